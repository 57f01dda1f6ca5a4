import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { LockingTaskExecutorListener } from '../../src/core/listener'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { Lease } from '../../src/core/time'
import { lockError } from '../lock-error'
import { FaultyLockProvider } from './faulty-lock-provider'
import { providerOf } from './provider-of'
import { useVirtualTime } from './virtual-time'

const UNRELEASED =
  "LockError: Lock 'job' could not be released yet; it expires at the end of its lease at the latest: the database is away"

const job = { name: 'job', lockAtMostFor: '10m' }
const outlived = expect.stringMatching(
  /^LockError: Lock 'job' can no longer be trusted: .* The task outlived its lock, so another instance may run it/,
)
let storage: InMemoryLockProvider
let warnings: unknown[]

useVirtualTime()
beforeEach(() => {
  storage = new InMemoryLockProvider()
  warnings = []
  jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)))
})

function run(task: () => unknown, ...listeners: LockingTaskExecutorListener[]): Promise<unknown> {
  return new LockingTaskExecutor(storage, { listeners }).executeWithLock(job, task)
}

/** A task that ends a minute after its lock. */
const tooLong = () => jest.advanceTimersByTimeAsync(660_000)

describe('a task that outlives its lock', () => {
  it('causes a process warning, while it still runs', async () => {
    await run(async () => {
      await jest.advanceTimersByTimeAsync(599_999)
      expect(warnings).toEqual([])
      await jest.advanceTimersByTimeAsync(1)
      expect(warnings).toEqual([outlived])
      await tooLong()
    })
    expect(warnings).toHaveLength(1)
  })

  it('causes one at its end, if it blocked the process until then, and no listener receives the event', async () => {
    const lost = jest.fn()
    let left = 600_000
    const lease = { remaining: () => left }
    const provider = providerOf(() =>
      Promise.resolve({ lease, extend: () => Promise.resolve(undefined), unlock: () => Promise.resolve() }),
    )
    for (const listeners of [[], [{}, { onLockLost: lost }]]) {
      left = 600_000
      const blocked = new LockingTaskExecutor(provider, { listeners })
      await blocked.executeWithLock(job, () => (left = 0))
    }
    expect(warnings).toEqual([outlived])
    expect(lost).toHaveBeenCalledTimes(1)
  })
})

it('a lock that somebody else released causes a warning, which says how a task notices that', async () => {
  const released = { extend: () => Promise.resolve(undefined), unlock: () => Promise.resolve(false) }
  const provider = providerOf(() => Promise.resolve({ lease: new Lease(600_000), ...released }))
  await new LockingTaskExecutor(provider).executeWithLock(job, () => undefined)
  expect(warnings).toEqual([
    expect.stringMatching(/it was released by hand.* – use keepAlive, which finds that/),
  ])
})

describe('a listener without a method', () => {
  it.each(['absent', 'undefined'])('silences no warning, if the method is %s', async (how) => {
    const [lost, failed] =
      how === 'absent' ? [{}, {}] : [{ onLockLost: undefined }, { onUnlockFailed: undefined }]
    await run(tooLong, lost as LockingTaskExecutorListener)
    expect(warnings).toEqual([outlived])
    const provider = new FaultyLockProvider(storage)
    provider.faults.unlock = new LockError('DATABASE_ERROR', 'the database is away')
    const executor = new LockingTaskExecutor(provider, { listeners: [failed as LockingTaskExecutorListener] })
    await executor.executeWithLock(job, () => undefined)
    expect(warnings.slice(1)).toEqual([UNRELEASED])
    await tooLong()
  })

  it.each([{}, 'listener', [undefined], [() => undefined], [null]])('is refused: %s', (listeners) => {
    expect(() => new LockingTaskExecutor(storage, { listeners } as object)).toThrow(
      lockError('INVALID_CONFIGURATION', 'listeners must be an array of objects'),
    )
  })

  it.each(['onLockLost', 'onLockAttempt', 'onTaskFinished'])('is refused, if %s is no function', (method) => {
    expect(() => new LockingTaskExecutor(storage, { listeners: [{ [method]: 'log' }] })).toThrow(
      lockError('INVALID_CONFIGURATION', `${method} of a listener must be a function`),
    )
  })
})

it.each(['lock-lost', 'unlock-failed'])('a subscriber to %s silences its warning', async (event) => {
  const provider = new FaultyLockProvider(storage)
  provider.faults.unlock = new LockError('DATABASE_ERROR', 'the database is away')
  const heard = jest.fn()
  subscribe(`shedlock-orm:${event}`, heard)
  await new LockingTaskExecutor(provider).executeWithLock(
    job,
    event === 'lock-lost' ? tooLong : () => undefined,
  )
  unsubscribe(`shedlock-orm:${event}`, heard)
  expect(heard).toHaveBeenCalledTimes(1)
  expect(warnings).toEqual(event === 'lock-lost' ? [UNRELEASED] : [])
  await tooLong()
})
