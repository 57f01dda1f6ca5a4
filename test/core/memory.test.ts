import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core'
import { collectGarbage } from './garbage'
import { promiseWithResolvers } from '../promise-with-resolvers'

const RUNS = 300
const NAMES = 50_000
const MEGABYTE = 2 ** 20

describe('memory', () => {
  it('does not keep the past runs of a job that starts itself again inside of its own task', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    const locks: WeakRef<object>[] = []
    const contexts: WeakRef<object>[] = []
    const kept = promiseWithResolvers<readonly number[]>()
    const alive = (refs: readonly WeakRef<object>[]): number => refs.filter((ref) => ref.deref()).length
    const job = (): void => {
      void executor.executeWithLock({ name: 'job', lockAtMostFor: '1h' }, async (context) => {
        locks.push(new WeakRef(context.lock))
        contexts.push(new WeakRef(context.signal))
        if (locks.length < RUNS) return void setImmediate(job)
        await collectGarbage()
        kept.resolve([alive(locks), alive(contexts)])
      })
    }
    job()
    for (const count of await kept.promise) expect(count).toBeLessThan(RUNS / 10)
  })

  it('does not keep the names of locks whose lease is over', async () => {
    let now = 0
    const provider = new InMemoryLockProvider({ now: () => now })
    await collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let index = 0; index < NAMES; index++) {
      // A text of its own for each, which is nowhere else.
      await provider.lock({ name: `${index}`.padStart(64, 'x'), lockAtMostFor: '1s' })
      now += 1
    }
    now += 60_000
    await provider.lock({ name: 'job', lockAtMostFor: '1s' })
    await collectGarbage()
    const grown = process.memoryUsage().heapUsed - before
    expect(provider.isLocked('job')).toBe(true)
    expect(grown / MEGABYTE).toBeLessThan(3)
  })
})
