import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockingTaskExecutor, type LockProvider } from '../core'
import type {
  Counter,
  LockProviderEnvironment,
  SqlLockProviderEnvironment,
} from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const WORKERS = 8
const ITERATIONS = 100
/** One worker stops early, so that the others see rows whose maker is gone. */
const ITERATIONS_OF_THE_FIRST = 10

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
      // Seven workers that ask without a pause keep the holder from its work.
      else await sleep(1)
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

export const fuzzCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'never lets two of eight workers with one provider run under one lock',
    run: async (environment) => {
      const provider = await environment.createProvider()
      await fuzz((work) => work(provider), inMemoryCounter)
    },
  },
  {
    title: 'never lets two of eight workers with a provider each run under one lock',
    run: (environment) => fuzz(async (work) => work(await environment.createProvider()), inMemoryCounter),
  },
]

export const sqlFuzzCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  {
    title: 'never loses an update of a counter in the database that is changed under a lock',
    run: (environment) =>
      fuzz(
        async (work) => work(await environment.createProvider()),
        () => environment.createCounter(),
      ),
  },
  {
    title: 'never lets two of eight workers run under one lock, each in an open transaction of its own',
    needs: ['beginTransaction'],
    run: (environment) =>
      fuzz(async (work) => {
        const transaction = await environment.beginTransaction()
        try {
          await work(transaction.provider)
        } finally {
          await transaction.rollback()
        }
      }, inMemoryCounter),
  },
]
