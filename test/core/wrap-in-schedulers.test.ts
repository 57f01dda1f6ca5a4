import { Cron } from 'croner'
import cron from 'node-cron'
import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler'
import { describe, expect, jest, test } from '@jest/globals'
import {
  activeLock,
  InMemoryLockProvider,
  LockError,
  LockingTaskExecutor,
  type LockProvider,
} from '../../src/core/internal'
import { providerOf } from './provider-of'
import { eventually } from '../eventually'

/** Each calls its task again and again, and would end the process if it rejects or throws. */
const hosts: Readonly<Record<string, (task: () => Promise<void>) => () => unknown>> = {
  setInterval: (task) => {
    const interval = setInterval(() => void task(), 20)
    return () => clearInterval(interval)
  },
  croner: (task) => {
    const job = new Cron('* * * * * *', task)
    return () => job.stop()
  },
  'toad-scheduler': (task) => {
    const scheduler = new ToadScheduler()
    scheduler.addSimpleIntervalJob(new SimpleIntervalJob({ milliseconds: 20 }, new AsyncTask('job', task)))
    return () => scheduler.stop()
  },
  'node-cron': (task) => {
    const job = cron.schedule('* * * * * *', task)
    return () => job.destroy()
  },
}

const failing = providerOf(() => Promise.reject(new LockError('TIMEOUT', 'no answer')))

const troubles: Readonly<Record<string, { provider?: LockProvider; task: () => unknown; message: string }>> =
  {
    'a task that rejects': { task: () => Promise.reject(new Error('my own')), message: 'my own' },
    'a task that throws': {
      task: () => {
        throw new Error('my own')
      },
      message: 'my own',
    },
    'a database that does not answer': { provider: failing, task: () => undefined, message: 'no answer' },
  }

describe.each(Object.entries(hosts))('a wrapped task in %s', (_, start) => {
  test.concurrent.each(Object.entries(troubles))('goes on after %s', async (_, trouble) => {
    const { provider, task, message } = trouble
    const onError = jest.fn<(error: unknown) => void>()
    const executor = new LockingTaskExecutor(provider ?? new InMemoryLockProvider())
    const stop = start(executor.wrap({ name: 'job', lockAtMostFor: '1m', onError }, task))
    try {
      await eventually(() => expect(onError.mock.calls.length).toBeGreaterThan(1))
      expect(onError).toHaveBeenLastCalledWith(expect.objectContaining({ message }))
    } finally {
      void stop()
    }
  })

  test.concurrent('runs under its lock, and not while somebody else has it', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    const ran: (string | undefined)[] = []
    const skipped = jest.fn()
    const stop = start(
      executor.wrap(
        { name: 'job', lockAtMostFor: '1m', onNotAcquired: skipped, onError: console.error },
        () => void ran.push(activeLock()?.name),
      ),
    )
    try {
      const other = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
      await eventually(() => expect(skipped).toHaveBeenCalled())
      expect(ran).toEqual([])
      await other?.unlock()
      await eventually(() => expect(ran).toContain('job'))
    } finally {
      void stop()
    }
  })
})
