import { getEventListeners } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { eventually } from '../eventually'
import { collectGarbage } from './collect-garbage'
import { promiseWithResolvers } from '../promise-with-resolvers'

const RUNS = 300
const NAMES = 10_000

describe('memory', () => {
  it('does not keep the past runs of a job that starts itself again inside of its own task', async () => {
    const locks: WeakRef<object>[] = []
    const contexts: WeakRef<object>[] = []
    // One for each run, because only these show that the scopes of ended runs go: a scope that has ended refers to nothing else.
    const providers: WeakRef<object>[] = []
    const kept = promiseWithResolvers<readonly number[]>()
    const alive = (refs: readonly WeakRef<object>[]): number => refs.filter((ref) => ref.deref()).length
    const job = (): void => {
      const provider = new InMemoryLockProvider()
      providers.push(new WeakRef(provider))
      const executor = new LockingTaskExecutor(provider)
      void executor.executeWithLock({ name: 'job', lockAtMostFor: '1h' }, async (context) => {
        locks.push(new WeakRef(context.lock))
        contexts.push(new WeakRef(context.signal))
        if (locks.length < RUNS) return void setImmediate(job)
        await collectGarbage()
        kept.resolve([alive(locks), alive(contexts), alive(providers)])
      })
    }
    job()
    for (const count of await kept.promise) expect(count).toBeLessThan(RUNS / 10)
  })

  it('does not keep the names of locks whose lease is over', async () => {
    let now = 0
    const provider = new InMemoryLockProvider({ now: () => now })
    const heap = async (): Promise<number> => {
      await collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const lockMany = async (names: number, prefix: string, apart: number): Promise<void> => {
      for (let index = 0; index < names; index++, now += apart) {
        // A text of its own for each, which is nowhere else. Unlocked, because a lock that is held has a timer too.
        const name = prefix + `${index}`.padStart(40, 'x')
        const lock = await provider.lock({ name, lockAtMostFor: '1s', lockAtLeastFor: '1s' })
        await lock?.unlock()
      }
    }
    const empty = await heap()
    await lockMany(NAMES, 'at once', 0)
    const held = (await heap()) - empty
    await lockMany(2 * NAMES, 'one after another', 1)
    expect((await heap()) - empty).toBeLessThan(held / 2)
  })

  it('keeps nothing of a lock by hand at a signal that lives on, once its lease is over', async () => {
    const { signal } = new AbortController()
    const lock = await new InMemoryLockProvider().lock({ name: 'job', lockAtMostFor: 50, signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await eventually(() => {
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    })
    expect(lock?.remaining()).toBe(0)
  })
})
