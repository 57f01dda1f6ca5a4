import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider } from '../core/internal'
import { newConfiguration, type Cases, type LockProviderEnvironment } from './expectations'

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

/**
 * Lets contenders go through the slots in step, each of them ahead by as many slots as its clock is fast. Their tasks take no time.
 *
 * @param fastest by how many slots the fastest clock is ahead
 * @returns how often each slot was run
 */
async function race(environment: LockProviderEnvironment, fastest: number): Promise<number[]> {
  const { name, lockAtMostFor } = newConfiguration()
  const first = (Math.floor(Date.now() / INTERVAL) - SLOTS) * INTERVAL
  const runs = Array.from({ length: SLOTS }, () => 0)
  const executors: LockingTaskExecutor[] = []
  for (let instance = 0; instance < INSTANCES; instance++) {
    const provider = await environment.createProvider()
    const contenders = { length: CONTENDERS / INSTANCES }
    executors.push(...Array.from(contenders, () => new LockingTaskExecutor(provider)))
  }
  for (let now = -fastest; now < SLOTS; now++) {
    await Promise.all(
      executors.map(async (executor, contender) => {
        const number = now + (contender % (fastest + 1))
        if (number < 0 || number >= SLOTS) return
        const slot = first + number * INTERVAL
        await executor.executeWithLock({ name, lockAtMostFor, slot }, () => {
          runs[number] = (runs[number] ?? 0) + 1
        })
      }),
    )
  }
  return runs
}

/** Cases in which workers and contenders compete for locks: no two may run at the same time. */
export const raceCases: Cases = {
  'never lets two of eight workers run under one lock at the same time, whether they share a provider or not':
    async (environment) => {
      const shared = await environment.createProvider()
      await fuzz(async (work, index) => work(index < 2 ? shared : await environment.createProvider()))
    },
  'runs each slot exactly once if the clocks of sixteen contenders differ by at most one interval': async (
    environment,
  ) => {
    const runs = await race(environment, 1)
    assert(new Set(runs).size === 1 && runs[0] === 1, `the slots were run ${runs.join(', ')} times`)
  },
  'runs no slot twice if the clocks of sixteen contenders differ by eight intervals': async (environment) => {
    const runs = await race(environment, 8)
    assert(Math.max(...runs) === 1, `the slots were run ${runs.join(', ')} times`)
  },
}
