import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

it('a lock that is held, and kept alive, does not keep its process alive', async () => {
  const core = JSON.stringify(join(__dirname, '../../src/core'))
  const script = `
    const { InMemoryLockProvider, KeepAliveLockProvider } = require(${core})
    const job = (name) => ({ name, lockAtMostFor: '1h' })
    const storage = new InMemoryLockProvider()
    Promise.all([
      storage.lock(job('plain')),
      new KeepAliveLockProvider(storage).lock(job('kept alive')),
    ]).then((locks) => console.log(locks.filter(Boolean).length))`
  const run = promisify(execFile)(process.execPath, ['--require', 'tsx/cjs', '--eval', script], {
    timeout: 60_000,
  })
  expect((await run).stdout.trim()).toBe('2')
})
