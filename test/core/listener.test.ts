import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, jest } from '@jest/globals'
import {
  loggingListener,
  type LockEvent,
  type LockingTaskExecutorListener,
  type TaskFinishedEvent,
} from '../../src/core/listener'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { lockError } from '../lock-error'
import { everyEvent, outcomes } from './every-event'
import { EVENTS, recorder } from './recorder'
import { useFaultyExecutor } from './faulty-executor'
import { startVirtualTime } from './virtual-time'

const job = { name: 'job', lockAtMostFor: '10m' }

const world = useFaultyExecutor()

const events = [
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onLockExtended', 'onTaskFinished'],
  ...['onLockAttempt', 'onLockNotAcquired'],
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onExtendFailed', 'onLockLost', 'onTaskFinished'],
  ...['onLockAttempt', 'onLockAcquired', 'onTaskStarted', 'onTaskFinished', 'onUnlockFailed'],
  ...['onLockAttempt', 'onLockFailed'],
].map((event) => (event === 'onLockNotAcquired' ? `${event} job held` : `${event} job`))

describe('a listener', () => {
  it('receives how long the task ran and how it ended', async () => {
    startVirtualTime()
    const onTaskFinished = jest.fn<(event: TaskFinishedEvent) => void>()
    const executor = new LockingTaskExecutor(world.provider, { listeners: [{ onTaskFinished }] })
    await executor.executeWithLock(job, () => jest.advanceTimersByTimeAsync(1_500))
    const error = new Error('business')
    await executor.executeWithLock(job, () => Promise.reject(error)).catch(() => undefined)
    expect(onTaskFinished.mock.calls).toEqual([
      [expect.objectContaining({ outcome: 'succeeded', duration: 1_500 })],
      [expect.objectContaining({ outcome: 'failed', error })],
    ])
  })

  it.each(['throws', 'rejects'])('that %s at each event changes nothing; others hear all', async (how) => {
    const fail = ({ configuration }: LockEvent) => {
      // The first tries to rename the lock.
      if (how === 'throws') throw new Error(Object.assign(configuration, { name: 'other' }).name)
      return Promise.reject(new Error('listener'))
    }
    const failing = Object.fromEntries(EVENTS.map((event) => [event, fail])) as LockingTaskExecutorListener
    const { listener, heard } = recorder()
    const executor = new LockingTaskExecutor(world.provider, { listeners: [failing, listener] })
    expect(await everyEvent(executor, world)).toEqual(outcomes)
    expect(heard).toEqual(events)
  })

  it('keeps its own this', async () => {
    class Counter implements LockingTaskExecutorListener {
      count = 0
      onLockAttempt(): void {
        this.count++
      }
    }
    const counter = new Counter()
    await new LockingTaskExecutor(world.provider, { listeners: [counter] }).executeWithLock(job, () => 'done')
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
    const executor = new LockingTaskExecutor(world.provider, { listeners: [recorder().listener] })
    expect(await everyEvent(executor, world)).toEqual(outcomes)
    expect(heard).toEqual(events)
    expect(subscribers.every((stop) => stop())).toBe(true)
  })

  it('receives nothing while it has no subscriber', async () => {
    const publish = jest.spyOn(channel(channelOf('onLockAttempt')), 'publish')
    await new LockingTaskExecutor(world.provider).executeWithLock(job, () => 'done')
    expect(publish).not.toHaveBeenCalled()
  })
})

describe('loggingListener', () => {
  it('logs a run and a skip in one line each, at a level that says whether somebody has to act', async () => {
    const lines: string[] = []
    const at = (level: string) => (line: string) => lines.push(`${level} ${line}`)
    const logger = { debug: at('debug'), warn: at('warn'), error: at('error') }
    // As an app leaves methods out.
    const listener = { ...loggingListener(logger) }
    await everyEvent(new LockingTaskExecutor(world.provider, { listeners: [listener] }), world)
    listener.onExtendFailed({
      name: 'job',
      configuration: { ...job, lockAtMostFor: 1 },
      error: 'text',
    } as never)
    const finished = "debug Lock 'job' ran its task, which succeeded after 0 ms"
    expect(lines.map((line) => line.replace(/\d+ ms/, '0 ms'))).toEqual([
      ...["debug Lock 'job' was extended", finished],
      "debug Lock 'job' is already held – the task was skipped",
      "warn Lock 'job' could not be extended; it expires when it would have before: TIMEOUT: late",
      expect.stringMatching(/^warn Lock 'job' was lost while its task ran: LOCK_LOST: Lock 'job' can no/),
      finished,
      "debug Lock 'job' ran its task, which failed after 0 ms: business",
      "warn Lock 'job' could not be released yet; it expires at the end of its lease at the latest: DATABASE_ERROR: gone",
      "error Lock 'job' could not be acquired, so the task did not run: DATABASE_ERROR: gone",
      "warn Lock 'job' could not be extended; it expires when it would have before: text",
    ])
  })

  it.each(['debug', 'warn', 'error'])('refuses a logger without %s()', (level) => {
    for (const logger of [{ ...console, [level]: 'silent' }, undefined])
      expect(() => loggingListener(logger as never)).toThrow(
        lockError('INVALID_CONFIGURATION', /a logger without \w+\(\) – pass console, pino/),
      )
  })
})
