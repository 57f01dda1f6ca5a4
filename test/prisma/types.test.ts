import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

test('generated clients, plain and extended, fit the types, and transaction clients do not', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [require.resolve('typescript/bin/tsc'), '-p', join(__dirname, 'types')],
    { encoding: 'utf8' },
  )
  expect(stdout + stderr).toBe('')
})
