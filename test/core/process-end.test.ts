import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { root } from '../project'

it('neither a lock that is held, and kept alive, nor a release that is never answered keeps its process alive', async () => {
  const script = `
    const { InMemoryLockProvider, Lease } = require('./src/core/internal')
    const { Debts } = require('./src/sql/debts')
    const { stateOf } = require('./src/sql/client-state')
    const storage = new InMemoryLockProvider()
    const lock = (name, keepAlive) => storage.lock({ name, lockAtMostFor: '1h', keepAlive })
    const untilSent = setInterval(() => {}, 1_000)
    const release = async () => {
      const locks = await Promise.all([lock('plain', false), lock('kept alive', true)])
      clearInterval(untilSent)
      console.log(locks.filter(Boolean).length)
      return new Promise(() => {})
    }
    const shared = stateOf({})
    Debts.owe({ release, lease: new Lease(3_600_000), timeLimit: 1_000 }, [new Debts(shared)], shared)`
  const options = { cwd: root, timeout: 60_000 }
  const run = await promisify(execFile)(process.execPath, ['--require', 'tsx/cjs', '--eval', script], options)
  expect(run.stdout).toBe('2\n')
})
