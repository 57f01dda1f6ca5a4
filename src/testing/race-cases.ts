import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider } from '../core/internal'
import { newConfiguration, type Cases } from './expectations'

/** Of each worker of a lock. The first one stops early, so that the others also see rows whose creator has stopped. */
const ITERATIONS = [5, 25, 25, 25]

const CONTENDERS = 16
/** All contenders of one instance of the app share a provider. */
const INSTANCES = 4
const SLOTS = 40
const INTERVAL = 1_000

/**
 * Lets four workers compete for each of two locks, and notices if two of them run under one lock at the same time.
 *
 * @param worker calls `work` with the provider of this worker
 */
export async function fuzz(
  worker: (work: (provider: LockProvider) => Promise<void>, index: number) => Promise<void>,
): Promise<void> {
  const contests = [1, 2].map(() => {
    const configuration = { name: randomUUID(), lockAtMostFor: '5m', lockAtLeastFor: '5ms' }
    let running = 0
    return ITERATIONS.map((iterations, index) =>
      worker(async (provider) => {
        const executor = new LockingTaskExecutor(provider)
        for (let done = 0; done < iterations;) {
          const { executed } = await executor.executeWithLock(configuration, async () => {
            assert.equal(++running, 1, 'two workers hold the lock at the same time')
            await sleep(1)
            running--
          })
          if (executed) done++
          // Without an interval, the workers that try again would starve the holder.
          else await sleep(3)
        }
      }, index),
    )
  })
  await Promise.all(contests.flat())
}

/** Cases in which workers and contenders compete for locks: no two may run at the same time. */
export const raceCases: Cases = {
  'never lets two of eight workers run under one lock at the same time, whether they share a provider or not':
    async (environment) => {
      const shared = await environment.createProvider()
      await fuzz(async (work, index) => work(index < 2 ? shared : await environment.createProvider()))
    },
  // Their tasks take no time, and they go through the slots in step. The clock of every other one is ahead by a slot.
  'runs each slot exactly once if the clocks of sixteen contenders differ by at most one interval': async (
    environment,
  ) => {
    const { name, lockAtMostFor } = newConfiguration()
    const first = (Math.floor(Date.now() / INTERVAL) - SLOTS) * INTERVAL
    const runs = Array.from({ length: SLOTS }, () => 0)
    const executors: LockingTaskExecutor[] = []
    for (let instance = 0; instance < INSTANCES; instance++) {
      const provider = await environment.createProvider()
      const contenders = { length: CONTENDERS / INSTANCES }
      executors.push(...Array.from(contenders, () => new LockingTaskExecutor(provider)))
    }
    for (let now = -1; now < SLOTS; now++) {
      const attempts = executors.map(async (executor, contender) => {
        const number = now + (contender % 2)
        if (number < 0 || number >= SLOTS) return
        const slot = first + number * INTERVAL
        await executor.executeWithLock({ name, lockAtMostFor, slot }, () => {
          runs[number] = (runs[number] ?? 0) + 1
        })
      })
      await Promise.all(attempts)
    }
    assert(new Set(runs).size === 1 && runs[0] === 1, `the slots were run ${runs.join(', ')} times`)
  },
}
