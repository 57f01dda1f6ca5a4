import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const root = join(__dirname, '../../..')
const example = join(root, 'examples/stackblitz')

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const read = async (path: string): Promise<Manifest> => JSON.parse(await readFile(path, 'utf8')) as Manifest

test('the example for StackBlitz runs each tick once, on sql.js', async () => {
  // Where it finds this package by its name.
  const folder = await mkdtemp(join(root, '.programs-'))
  try {
    await copyFile(join(example, 'main.mjs'), join(folder, 'main.mjs'))
    const env = { ...process.env, TICKS: '3' }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.mjs')], { env })
    const ticks = stdout.split(/^tick .*\n/m).slice(1)
    expect(ticks).toHaveLength(3)
    for (const tick of ticks) {
      expect(tick.match(/sends the report/g)).toHaveLength(1)
      expect(tick.match(/skips/g)).toHaveLength(3)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('its package has the versions that are tested', async () => {
  const { version, devDependencies } = await read(join(root, 'package.json'))
  const tested = { ...devDependencies, 'shedlock-orm': `^${version}` }
  expect(tested).toMatchObject((await read(join(example, 'package.json'))).dependencies)
})
