import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider } from '../core/internal'
import { newConfiguration } from './expectations'
import type {
  Cases,
  CasesThatNeed,
  Counter,
  LockProviderEnvironment,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'

const WORKERS = 8
const ITERATIONS = 25
/** One worker stops early, so that the others see rows whose maker is gone. */
const ITERATIONS_OF_THE_FIRST = 5

const CONTENDERS = 16
/** Contenders of one instance of the app share a provider. */
const INSTANCES = 4
const SLOTS = 40
const INTERVAL = 1_000

/** Calls `work` with the provider that one worker uses. */
type Worker = (work: (provider: LockProvider) => Promise<void>) => Promise<void>

/** Workers fight for two locks; under each lock its counter is read, and written a moment later. */
async function fuzz(worker: Worker, createCounter: () => Promise<Counter> | Counter): Promise<void> {
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
      // Seven workers that try without a pause keep the holder from its work.
      else await sleep(3)
    }
  }
  await Promise.all(
    Array.from({ length: WORKERS }, (_, index) => worker((provider) => work(provider, index))),
  )
  assert.equal(
    await counters[0].read(),
    (WORKERS / 2 - 1) * ITERATIONS + ITERATIONS_OF_THE_FIRST,
    'updates were lost: two held the lock',
  )
  assert.equal(await counters[1].read(), (WORKERS / 2) * ITERATIONS, 'updates were lost: two held the lock')
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
 * Contenders go through the slots at one pace, each ahead of the others by as many slots as its clock is. Their jobs
 * take no time.
 *
 * @param ahead by how many slots the clock of a contender is ahead
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

/** Workers and contenders that fight for locks: nobody may run beside another. */
export const raceCases: Cases<LockProviderEnvironment> = {
  'never lets two of eight workers with one provider run under one lock': async (environment) => {
    const provider = await environment.createProvider()
    await fuzz((work) => work(provider), inMemoryCounter)
  },
  'never lets two of eight workers with a provider each run under one lock': (environment) =>
    fuzz(async (work) => work(await environment.createProvider()), inMemoryCounter),
  'runs each slot exactly once while sixteen contenders differ by less than an interval': async (
    environment,
  ) => {
    const runs = await race(environment, (contender) => contender % 2)
    assert(
      runs.every((times) => times === 1),
      `the slots were run ${runs.join(', ')} times`,
    )
  },
  'runs no slot twice while sixteen contenders differ by eight intervals': async (environment) => {
    const runs = await race(environment, (contender) => contender % 9)
    assert.equal(Math.max(...runs), 1, `the slots were run ${runs.join(', ')} times`)
  },
}

export const sqlRaceCases: Cases<SqlLockProviderEnvironment> = {
  'never loses an update of a counter in the database that is changed under a lock': (environment) =>
    fuzz(
      async (work) => work(await environment.createProvider()),
      () => environment.createCounter(),
    ),
}

export const transactionRaceCases: CasesThatNeed<SqlLockProviderEnvironment> = {
  needs: 'beginTransaction',
  cases: {
    'never lets two of eight workers run under one lock, each in an open transaction of its own': (
      environment,
    ) =>
      fuzz(async (work) => {
        const transaction = await environment.beginTransaction()
        try {
          await work(transaction.provider)
        } finally {
          await transaction.rollback()
        }
      }, inMemoryCounter),
  },
}
