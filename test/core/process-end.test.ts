import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'
import { root } from '../project'

/** @returns the last line that a process printed before it ended by itself */
async function lastLineOf(script: string): Promise<string | undefined> {
  const options = { cwd: root, timeout: 60_000 }
  const run = await promisify(execFile)(process.execPath, ['--require', 'tsx/cjs', '--eval', script], options)
  return run.stdout.trim().split('\n').at(-1)
}

it('a lock that is held, and kept alive, does not keep its process alive', async () => {
  const script = `
    const { InMemoryLockProvider } = require('./src/core/internal')
    const job = (name) => ({ name, lockAtMostFor: '1h' })
    const storage = new InMemoryLockProvider()
    Promise.all([
      storage.lock(job('plain')),
      storage.lock({ ...job('kept alive'), keepAlive: true }),
    ]).then((locks) => console.log(locks.filter(Boolean).length))`
  expect(await lastLineOf(script)).toBe('2')
})

it('a release in the background that is never answered does not keep its process alive', async () => {
  const script = `
    const { Lease } = require('./src/core/internal')
    const { Debts } = require('./src/sql/debts')
    const { stateOf } = require('./src/sql/client-state')
    const untilSent = setInterval(() => {}, 1_000)
    const release = () => {
      clearInterval(untilSent)
      console.log('sent')
      return new Promise(() => {})
    }
    const shared = stateOf({})
    Debts.owe({ release, lease: new Lease(3_600_000), timeLimit: 1_000 }, [new Debts(shared)], shared)`
  expect(await lastLineOf(script)).toBe('sent')
})
