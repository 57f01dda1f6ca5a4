import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider } from '../core/internal'
import { newConfiguration } from './expectations'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'

const WORKERS = 8
const ITERATIONS = 25
/** One worker stops early, so that the others also see rows whose creator has stopped. */
const ITERATIONS_OF_THE_FIRST = 5

const CONTENDERS = 16
/** All contenders of one instance of the app share a provider. */
const INSTANCES = 4
const SLOTS = 40
const INTERVAL = 1_000

const TWO_HOLDERS = 'updates were lost, because two workers held the lock at the same time'

/** A number that loses an update if two workers change it at the same time. */
export interface Counter {
  /** Returns the number. */
  read(): Promise<number>
  /** Overwrites the number, even if it has changed since it was read. */
  write(value: number): Promise<void>
}

/** Calls `work` with the provider of one worker. */
type Worker = (work: (provider: LockProvider) => Promise<void>) => Promise<void>

/** Lets workers compete for two locks. Each lock protects a counter, which is read and written a moment later. */
export async function fuzz(
  worker: Worker,
  createCounter: () => Promise<Counter> | Counter = inMemoryCounter,
): Promise<void> {
  const names = [randomUUID(), randomUUID()] as const
  const counters = [await createCounter(), await createCounter()] as const
  const work = async (provider: LockProvider, index: number): Promise<void> => {
    const executor = new LockingTaskExecutor(provider)
    const job = index % 2 === 0 ? 0 : 1
    const configuration = { name: names[job], lockAtMostFor: '5m', lockAtLeastFor: '5ms' }
    const iterations = index === 0 ? ITERATIONS_OF_THE_FIRST : ITERATIONS
    for (let done = 0; done < iterations;) {
      const { executed } = await executor.executeWithLock(configuration, async () => {
        const value = await counters[job].read()
        await sleep(1)
        await counters[job].write(value + 1)
      })
      if (executed) done++
      // Without an interval, seven retrying workers would starve the holder.
      else await sleep(3)
    }
  }
  await Promise.all(
    Array.from({ length: WORKERS }, (_, index) => worker((provider) => work(provider, index))),
  )
  assert.equal(
    await counters[0].read(),
    (WORKERS / 2 - 1) * ITERATIONS + ITERATIONS_OF_THE_FIRST,
    TWO_HOLDERS,
  )
  assert.equal(await counters[1].read(), (WORKERS / 2) * ITERATIONS, TWO_HOLDERS)
}

function inMemoryCounter(): Counter {
  let counter = 0
  return {
    read: () => Promise.resolve(counter),
    write: (value) => {
      counter = value
      return Promise.resolve()
    },
  }
}

/**
 * Lets contenders go through the slots in step, each of them ahead by as many slots as its clock is fast. Their tasks take no time.
 *
 * @param ahead returns by how many slots a contender's clock is fast
 * @returns how often each slot was run
 */
async function race(
  environment: LockProviderEnvironment,
  ahead: (contender: number) => number,
): Promise<number[]> {
  const { name, lockAtMostFor } = newConfiguration()
  const first = (Math.floor(Date.now() / INTERVAL) - SLOTS) * INTERVAL
  const runs = Array.from({ length: SLOTS }, () => 0)
  const executors: LockingTaskExecutor[] = []
  for (let instance = 0; instance < INSTANCES; instance++) {
    const provider = await environment.createProvider()
    const contenders = { length: CONTENDERS / INSTANCES }
    executors.push(...Array.from(contenders, () => new LockingTaskExecutor(provider)))
  }
  const furthest = Math.max(...executors.map((_, contender) => ahead(contender)))
  for (let now = -furthest; now < SLOTS; now++) {
    await Promise.all(
      executors.map(async (executor, contender) => {
        const number = now + ahead(contender)
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
  'never lets two of eight workers that share a provider run under one lock at the same time': async (
    environment,
  ) => {
    const provider = await environment.createProvider()
    await fuzz((work) => work(provider))
  },
  'never lets two of eight workers with separate providers run under one lock at the same time': (
    environment,
  ) => fuzz(async (work) => work(await environment.createProvider())),
  'runs each slot exactly once if the clocks of sixteen contenders differ by at most one interval': async (
    environment,
  ) => {
    const runs = await race(environment, (contender) => contender % 2)
    assert(
      runs.every((times) => times === 1),
      `the slots were run ${runs.join(', ')} times`,
    )
  },
  'runs no slot twice if the clocks of sixteen contenders differ by eight intervals': async (environment) => {
    const runs = await race(environment, (contender) => contender % 9)
    assert.equal(Math.max(...runs), 1, `the slots were run ${runs.join(', ')} times`)
  },
}
