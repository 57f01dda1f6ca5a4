import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  LockError,
  LockingTaskExecutor,
  type LockingTaskExecutorListener,
  type TaskFinishedEvent,
} from '../../src/core/internal'
import { EVENTS, recorder } from './recorder'
import { faultyExecutor } from './faulty-executor'

const job = { name: 'job', lockAtMostFor: '10m' }
let { storage, provider } = faultyExecutor()

beforeEach(() => {
  ;({ storage, provider } = faultyExecutor())
})

/** Makes every event happen once. */
async function everything(executor: LockingTaskExecutor): Promise<unknown[]> {
  const outcomes: unknown[] = []
  const run = async (work: Promise<unknown>) =>
    outcomes.push(await work.catch((error: unknown) => String(error)))
  await run(
    executor.executeWithLock(job, async ({ lock }) => {
      await lock.extend('20m')
    }),
  )
  const held = await storage.lock(job)
  await run(executor.executeWithLock(job, () => 'skipped'))
  await held?.unlock()
  await run(
    executor.executeWithLock(job, async ({ lock }) => {
      provider.faults.extend = new LockError('TIMEOUT', 'late')
      await lock.extend('20m').catch(() => undefined)
      delete provider.faults.extend
      provider.refusesExtensions = true
      await lock.extend('20m').catch(() => undefined)
      return 'lost'
    }),
  )
  storage.clear()
  provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
  await run(executor.executeWithLock(job, () => Promise.reject(new Error('business'))))
  provider.faults.lock = new LockError('DATABASE_ERROR', 'gone')
  await run(executor.executeWithLock(job, () => 'not run'))
  return outcomes
}

const outcomes = [
  { executed: true, value: undefined },
  { executed: false, reason: 'held' },
  { executed: true, value: 'lost' },
  'Error: business',
  'LockError: gone',
]
const events = [
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onLockExtended', 'onTaskFinished'],
  ...['onLockAttempt', 'onLockNotAcquired'],
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onExtendFailed', 'onLockLost', 'onTaskFinished'],
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onTaskFinished', 'onUnlockFailed'],
  ...['onLockAttempt', 'onLockFailed'],
].map((event) => (event === 'onLockNotAcquired' ? `${event} job held` : `${event} job`))

describe('a listener', () => {
  it('receives each event in order', async () => {
    const { listener, heard } = recorder()
    expect(await everything(new LockingTaskExecutor(provider, { listeners: [listener] }))).toEqual(outcomes)
    expect(heard).toEqual(events)
  })

  it('receives how long the task ran and how it ended', async () => {
    const onTaskFinished = jest.fn<(event: TaskFinishedEvent) => void>()
    const executor = new LockingTaskExecutor(provider, { listeners: [{ onTaskFinished }] })
    await executor.executeWithLock(job, () => 'done')
    const error = new Error('business')
    await executor.executeWithLock(job, () => Promise.reject(error)).catch(() => undefined)
    expect(onTaskFinished.mock.calls).toEqual([
      [expect.objectContaining({ outcome: 'succeeded', duration: expect.any(Number) })],
      [expect.objectContaining({ outcome: 'failed', error })],
    ])
  })

  it.each(['throws', 'rejects'])(
    'that %s at every event changes nothing, and the others hear everything',
    async (how) => {
      const fail = () => {
        if (how === 'throws') throw new Error('listener')
        return Promise.reject(new Error('listener'))
      }
      const failing = Object.fromEntries(EVENTS.map((event) => [event, fail])) as LockingTaskExecutorListener
      const { listener, heard } = recorder()
      expect(await everything(new LockingTaskExecutor(provider, { listeners: [failing, listener] }))).toEqual(
        outcomes,
      )
      expect(heard).toEqual(events)
    },
  )

  it('keeps its own this', async () => {
    class Counter implements LockingTaskExecutorListener {
      count = 0
      onLockAttempt(): void {
        this.count++
      }
    }
    const counter = new Counter()
    await new LockingTaskExecutor(provider, { listeners: [counter] }).executeWithLock(job, () => 'done')
    expect(counter.count).toBe(1)
  })
})

describe('node:diagnostics_channel', () => {
  const channelOf = (event: string) =>
    `shedlock-orm:${event
      .slice(2)
      .replace(/(?!^)[A-Z]/g, '-$&')
      .toLowerCase()}`

  it('has a channel for each event, with the same message', async () => {
    const { listener, heard } = recorder()
    const subscribers = EVENTS.map((event) => {
      const note = (message: unknown) => listener[event]?.(message as never)
      subscribe(channelOf(event), note)
      return () => unsubscribe(channelOf(event), note)
    })
    expect(await everything(new LockingTaskExecutor(provider, { listeners: [recorder().listener] }))).toEqual(
      outcomes,
    )
    expect(heard).toEqual(events)
    expect(subscribers.every((stop) => stop())).toBe(true)
  })

  it('receives nothing while it has no subscriber', async () => {
    const publish = jest.spyOn(channel(channelOf('onLockAttempt')), 'publish')
    await new LockingTaskExecutor(provider).executeWithLock(job, () => 'done')
    expect(publish).not.toHaveBeenCalled()
  })
})
