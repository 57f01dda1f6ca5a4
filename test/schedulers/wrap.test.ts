import { Cron } from 'croner'
import cron from 'node-cron'
import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler'
import { describe, expect, test, vi } from 'vitest'
import {
  activeLock,
  InMemoryLockProvider,
  LockError,
  LockingTaskExecutor,
  type LockProvider,
} from '../../src/core'

/** Each calls its task again and again, and would end the process if it rejects or throws. */
const hosts: Readonly<Record<string, (task: () => Promise<void>) => () => unknown>> = {
  setInterval: (task) => {
    const interval = setInterval(() => void task(), 20)
    return () => {
      clearInterval(interval)
    }
  },
  croner: (task) => {
    const job = new Cron('* * * * * *', task)
    return () => {
      job.stop()
    }
  },
  'toad-scheduler': (task) => {
    const scheduler = new ToadScheduler()
    scheduler.addSimpleIntervalJob(new SimpleIntervalJob({ milliseconds: 20 }, new AsyncTask('job', task)))
    return () => {
      scheduler.stop()
    }
  },
  'node-cron': (task) => {
    const job = cron.schedule('* * * * * *', task)
    return () => job.destroy()
  },
}

const failing: LockProvider = {
  lock: () => Promise.reject(new LockError('TIMEOUT', 'no answer')),
}

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

const PATIENCE = { timeout: 30_000 }

describe.for(Object.entries(hosts))('a wrapped task in %s', ([, start]) => {
  test.concurrent.for(Object.entries(troubles))(
    'goes on after %s',
    async ([, trouble], { onTestFinished }) => {
      const { provider, task, message } = trouble
      const onError = vi.fn<(error: unknown) => void>()
      const executor = new LockingTaskExecutor(provider ?? new InMemoryLockProvider())
      const stop = start(executor.wrap({ name: 'job', lockAtMostFor: '1m', onError }, task))
      onTestFinished(() => void stop())
      await vi.waitFor(() => {
        expect(onError.mock.calls.length).toBeGreaterThan(1)
      }, PATIENCE)
      expect(onError).toHaveBeenLastCalledWith(expect.objectContaining({ message }))
    },
  )

  test.concurrent('runs under its lock, and not while somebody else has it', async ({ onTestFinished }) => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider)
    const ran: (string | undefined)[] = []
    const skipped = vi.fn()
    const stop = start(
      executor.wrap(
        { name: 'job', lockAtMostFor: '1m', onNotAcquired: skipped, onError: console.error },
        () => void ran.push(activeLock()?.name),
      ),
    )
    onTestFinished(() => void stop())
    const other = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    await vi.waitFor(() => {
      expect(skipped).toHaveBeenCalled()
    }, PATIENCE)
    expect(ran).toEqual([])
    await other?.unlock()
    await vi.waitFor(() => {
      expect(ran).toContain('job')
    }, PATIENCE)
  })
})
