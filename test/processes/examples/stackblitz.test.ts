import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { root } from '../../project'
import { temporaryFolder } from '../../temporary-folder'

const example = join(root, 'examples/stackblitz')

test('the example for StackBlitz runs each tick once, on sql.js', async () => {
  // Where it finds this package by its name.
  const folder = temporaryFolder(join(root, '.programs-'))
  copyFileSync(join(example, 'main.mjs'), join(folder, 'main.mjs'))
  const env = { ...process.env, TICKS: '3' }
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.mjs')], { env })
  const ticks = stdout.split(/^tick .*\n/m).slice(1)
  expect(ticks).toHaveLength(3)
  for (const tick of ticks) {
    expect(tick.match(/sends the report/g)).toHaveLength(1)
    expect(tick.match(/skips/g)).toHaveLength(3)
  }
})
