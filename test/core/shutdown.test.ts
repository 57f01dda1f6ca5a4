import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import type { LockProvider } from '../../src/core/lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { assertLocked } from '../../src/core/scope'
import { providerOf } from './provider-of'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { recorder } from './recorder'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { useFaultyExecutor } from './faulty-executor'
import { startVirtualTime } from './virtual-time'

const job = { name: 'job', lockAtMostFor: '10m' }

const world = useFaultyExecutor()

const locked = () => eventually(() => expect(world.storage.isLocked('job')).toBe(true))

describe('shutdown', () => {
  it('lets a running task finish, although another one fails, and waits until its lock is released', async () => {
    const [failure, gate] = [promiseWithResolvers<unknown>(), promiseWithResolvers()]
    const failing = world.executor.executeWithLock({ ...job, name: 'other' }, () => failure.promise)
    const run = world.executor.executeWithLock(job, async ({ signal }) => {
      await gate.promise
      return signal.aborted
    })
    await locked()
    startVirtualTime()
    const shutdown = world.executor.shutdown()
    failure.resolve(Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    gate.resolve()
    expect(await shutdown).toEqual([])
    expect([world.storage.isLocked('job'), jest.getTimerCount()]).toEqual([false, 0])
    expect(await run).toEqual({ executed: true, value: false })
  })

  it.each([
    [{}, 5_000],
    [{ timeout: '30s' }, 25_000],
    [{ timeout: '4s' }, 2_000],
    [{ timeout: '30s', abortAfter: '30s' }, 30_000],
    [{ abortAfter: 0 }, 0],
  ])('%j aborts the signals after %i ms', async (options, abortAfter) => {
    startVirtualTime()
    let aborted: AbortSignal | undefined
    const gate = promiseWithResolvers()
    const run = world.executor.executeWithLock(job, ({ signal }) => {
      aborted = signal
      return gate.promise
    })
    await jest.advanceTimersByTimeAsync(0)
    const shutdown = world.executor.shutdown(options)
    if (abortAfter > 0) await jest.advanceTimersByTimeAsync(abortAfter - 1)
    expect(aborted?.aborted).toBe(abortAfter === 0)
    await jest.advanceTimersByTimeAsync(1)
    expect(aborted?.reason).toMatchObject({ code: 'SHUTDOWN' })
    gate.resolve()
    await jest.advanceTimersByTimeAsync(0)
    expect(await run).toMatchObject({ executed: true })
    expect(await shutdown).toEqual(abortAfter === 30_000 ? ['job'] : [])
    expect(jest.getTimerCount()).toBe(0)
  })

  it('aborts at once when it is called again with abortAfter 0', async () => {
    const run = world.executor.executeWithLock(job, ({ signal }) => sleep(600_000, undefined, { signal }))
    await locked()
    const first = world.executor.shutdown({ timeout: '1h' })
    const outcome = expect(run).rejects.toMatchObject({ cause: { code: 'SHUTDOWN' } })
    expect(await world.executor.shutdown({ abortAfter: 0 })).toEqual([])
    expect(await first).toEqual([])
    expect(world.storage.isLocked('job')).toBe(false)
    await outcome
  })

  it.each([
    ['10s', /shutdown options must be an object; its options are timeout, abortAfter/],
    [{ abortAfter: '20s' }, /abortAfter \(20000 ms\) must not be longer than timeout \(10000 ms\)/],
  ])('refuses %j, and goes on', async (options, message) => {
    const refused = world.executor.shutdown(options as never)
    await expect(refused).rejects.toEqual(lockError('INVALID_CONFIGURATION', message))
    expect(await world.executor.executeWithLock(job, () => 1)).toEqual({ executed: true, value: 1 })
  })

  it('leaves a task its lock while it cleans up', async () => {
    const run = world.executor.executeWithLock(job, async ({ signal, lock }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      assertLocked()
      await lock.extend('20m')
      return 'cleaned up'
    })
    await locked()
    await world.executor.shutdown({ abortAfter: 0 })
    expect(await run).toEqual({ executed: true, value: 'cleaned up' })
  })

  it('names the tasks that still run after the timeout, and leaves them locked', async () => {
    const gate = promiseWithResolvers()
    const nested = () => world.executor.executeWithLock(job, () => gate.promise)
    const run = world.executor.executeWithLock(job, nested)
    await locked()
    expect(await world.executor.shutdown({ timeout: '20ms' })).toEqual(['job'])
    expect(world.storage.isLocked('job')).toBe(true)
    gate.resolve()
    expect(await run).toEqual({ executed: true, value: { executed: true, value: undefined } })
    expect(await world.executor.shutdown()).toEqual([])
  })

  it('does not name a task that has ended, although its release gets no answer', async () => {
    const released = promiseWithResolvers()
    const run = world.executor.executeWithLock(job, () => {
      world.provider.gate = released.promise
      return 'done'
    })
    await eventually(() => expect(world.provider.calls).toEqual(['lock', 'unlock']))
    expect(await world.executor.shutdown({ timeout: '20ms' })).toEqual([])
    released.resolve()
    expect(await run).toEqual({ executed: true, value: 'done' })
  })

  it('skips what is called afterwards, without asking the database', async () => {
    await world.executor.shutdown()
    expect(await world.executor.executeWithLock(job, () => 'late')).toEqual({
      executed: false,
      reason: 'shutdown',
    })
    expect(world.provider.calls).toEqual([])
    expect(world.heard).toEqual([])
    const thrown = world.executor.executeWithLock({ ...job, onSkip: 'throw' }, () => 'late')
    await expect(thrown).rejects.toMatchObject({
      code: 'SHUTDOWN',
      lockName: 'job',
      message: `The executor is shutting down – the task of lock 'job' must stop.`,
    })
  })

  it('does not run a task whose lock is acquired too late, reports it, and releases the lock despite lockAtLeastFor', async () => {
    const gate = promiseWithResolvers()
    world.provider.gate = gate.promise
    const task = jest.fn()
    const aborting = new AbortController()
    const late = { ...job, lockAtLeastFor: '9m', signal: aborting.signal }
    const run = world.executor.executeWithLock(late, task)
    const shutdown = world.executor.shutdown()
    aborting.abort()
    gate.resolve()
    expect(await shutdown).toEqual([])
    expect(await run).toEqual({ executed: false, reason: 'shutdown' })
    expect(task).not.toHaveBeenCalled()
    expect(world.heard).toEqual(['onLockAttempt job', 'onLockNotAcquired job shutdown'])
    await eventually(() => expect(world.storage.isLocked('job')).toBe(false))
  })

  it('reports a lock that it no longer waits for as not acquired because of the shutdown', async () => {
    const { listener, heard: events } = recorder()
    const asked = promiseWithResolvers()
    const stalled = providerOf(() => {
      asked.resolve()
      return Promise.resolve({ reason: 'held' })
    })
    const waiting = new LockingTaskExecutor(stalled, { listeners: [listener] })
    const run = waiting.executeWithLock({ ...job, wait: '1h' }, () => 'not run')
    await asked.promise
    expect(await waiting.shutdown()).toEqual([])
    expect(await run).toEqual({ executed: false, reason: 'shutdown' })
    expect(events).toEqual(['onLockAttempt job', 'onLockNotAcquired job shutdown'])
  })

  it('leaves the rest of the timeout to releases in the background', async () => {
    const gate = promiseWithResolvers()
    const drain = jest.fn<NonNullable<LockProvider['drain']>>().mockResolvedValue()
    const drained = new LockingTaskExecutor(providerOf((wanted) => world.storage.acquire(wanted), drain))
    const run = drained.executeWithLock(job, () => gate.promise)
    await locked()
    expect(await drained.shutdown({ timeout: '20ms' })).toEqual(['job'])
    expect(await drained.shutdown({ timeout: 0 })).toEqual(['job'])
    gate.resolve()
    await run
    await drained.shutdown({ timeout: '1h' })
    const [first, second, last] = drain.mock.calls.map(([timeout]) => Number(timeout))
    expect(first).toBeLessThan(20)
    expect(second).toBe(0)
    expect(last).toBeGreaterThan(3_500_000)
  })

  it('tolerates a lock that was acquired too late and cannot be released', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const gate = promiseWithResolvers()
    world.provider.gate = gate.promise
    world.provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
    const silent = new LockingTaskExecutor(world.provider)
    const run = silent.executeWithLock(job, () => 'late')
    const shutdown = silent.shutdown()
    gate.resolve()
    await shutdown
    expect(await run).toEqual({ executed: false, reason: 'shutdown' })
    expect(warning).toHaveBeenCalledTimes(1)
  })

  it.each(['onLockAcquired', 'onTaskStarted'] as const)('stops the task if %s calls it', async (event) => {
    const ended: Promise<unknown>[] = []
    const listener = { [event]: () => void ended.push(stopping.shutdown({ abortAfter: 0 })) }
    const stopping = new LockingTaskExecutor(world.provider, { listeners: [listener] })
    await stopping.executeWithLock(job, ({ signal }) => {
      expect(signal.reason).toMatchObject({ code: 'SHUTDOWN' })
    })
    expect(await Promise.all(ended)).toEqual([[]])
  })
})
