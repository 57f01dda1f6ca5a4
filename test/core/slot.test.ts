import { beforeEach, describe, expect, it, test } from '@jest/globals'
import {
  activeLock,
  InMemoryLockProvider,
  LockingTaskExecutor,
  type LockEvent,
  type Skip,
} from '../../src/core/internal'
import { FaultyLockProvider } from './faulty-lock-provider'

const due = Date.UTC(2026, 9, 21, 3)
const job = { name: 'job', lockAtMostFor: '10m', slot: due }
const invalid = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
let provider: InMemoryLockProvider
let executor: LockingTaskExecutor

beforeEach(() => {
  provider = new InMemoryLockProvider()
  executor = new LockingTaskExecutor(provider)
})

describe('a task with a slot', () => {
  it('runs once, and says that it ran already', async () => {
    const events: (LockEvent & Skip)[] = []
    executor = new LockingTaskExecutor(provider, {
      listeners: [{ onLockNotAcquired: (event) => void events.push(event) }],
    })
    const skip = { executed: false, reason: 'already-run' }
    expect(await executor.executeWithLock(job, () => 1)).toEqual({ executed: true, value: 1 })
    expect(await executor.executeWithLock(job, () => 2)).toEqual(skip)
    expect(await executor.executeWithLock({ ...job, slot: new Date(due) }, () => 3)).toEqual(skip)
    expect(events.map(({ reason, configuration }) => [reason, configuration.slot])).toEqual([
      ['already-run', due],
      ['already-run', due],
    ])
  })

  it('runs inside of its own lock, as without', async () => {
    const inner = await executor.executeWithLock(job, () => executor.executeWithLock(job, () => 1))
    expect(inner).toEqual({ executed: true, value: { executed: true, value: 1 } })
  })

  it.each([NaN, -1, 0, 0.5, Infinity, 1e15, new Date(NaN), '2026-11-21', null, {}])(
    'is refused with the slot %p',
    async (slot) => {
      await expect(executor.executeWithLock({ ...job, slot } as never, () => 1)).rejects.toThrow(invalid)
    },
  )

  it('is refused with a slot that is more than a minute ahead', async () => {
    const slot = Date.now() + 70_000
    const ahead = executor.executeWithLock({ ...job, slot }, () => 1)
    await expect(ahead).rejects.toMatchObject({
      code: 'INVALID_CONFIGURATION',
      message: expect.stringContaining(`The slot of lock 'job', ${new Date(slot).toISOString()}, lies more`),
    })
  })
})

test('the token of a slot that is to succeed grows with 998 retries, and then stays', async () => {
  const tokens: unknown[] = []
  for (let run = 0; run <= 1_000; run++) {
    const lock = await provider.lock({ ...job, untilSucceeded: true })
    tokens.push(await lock?.fencingToken())
    await lock?.unlock({ outcome: 'failed' })
  }
  expect(tokens).toEqual(tokens.map((_, run) => due + Math.min(run, 998)))
})

describe('untilSucceeded', () => {
  const retried = { name: 'job', lockAtMostFor: '10m', untilSucceeded: true }

  it('without a slot is refused, whether slot is absent or undefined', async () => {
    for (const configuration of [retried, { ...retried, slot: undefined }]) {
      await expect(provider.lock(configuration)).rejects.toThrow(invalid)
      await expect(executor.executeWithLock(configuration, () => 1)).rejects.toThrow(invalid)
    }
  })

  it('of a wrapped function needs a function for its slots, and refuses a call without one', async () => {
    for (const configuration of [retried, { ...retried, slot: undefined }])
      expect(() => executor.wrap(configuration, () => 1)).toThrow(invalid)
    const run = executor.wrap(
      { ...retried, slot: (at?: number) => at ?? (undefined as never) },
      (at?: number) => at,
    )
    await expect(run()).rejects.toEqual(invalid)
    expect([await run(due), await run(due)]).toMatchObject([
      { executed: true },
      { executed: false, reason: 'already-run' },
    ])
  })
})

describe('wrap', () => {
  it('takes the slot from the arguments of the call', async () => {
    const run = executor.wrap({ ...job, slot: (at: Date) => at }, (at: Date) => at.getTime())
    expect(await run(new Date(due))).toEqual({ executed: true, value: due })
    expect(await run(new Date(due))).toEqual({ executed: false, reason: 'already-run' })
    expect(await run(new Date(due + 1))).toEqual({ executed: true, value: due + 1 })
  })

  it('refuses one slot for all calls', () => {
    expect(() => executor.wrap({ ...job, slot: due } as never, () => 1)).toThrow(invalid)
  })
})

describe('wait', () => {
  it('does not wait for a slot that was given', async () => {
    await (await provider.lock(job))?.unlock()
    const waiting = executor.executeWithLock({ ...job, wait: '1h' }, () => 1)
    expect(await waiting).toEqual({ executed: false, reason: 'already-run' })
  })
})

describe('the fencing token', () => {
  it('is available inside the task, but not after its end', async () => {
    const result = await executor.executeWithLock(job, async ({ lock }) => {
      expect(await activeLock()?.fencingToken()).toBe(due)
      return lock
    })
    const lock = result.executed ? result.value : undefined
    await expect(lock?.fencingToken()).rejects.toThrow(expect.objectContaining({ code: 'NOT_LOCKED' }))
  })

  it('throws an error that explains it if the provider has no tokens', async () => {
    const lock = await new FaultyLockProvider(provider).lock(job)
    await expect(lock?.fencingToken()).rejects.toThrow(invalid)
  })

  it('grows after an entry in memory was forgotten', async () => {
    const plain = { name: 'plain', lockAtMostFor: '10m' }
    const first = await provider.lock(plain)
    const before = await first?.fencingToken()
    await first?.unlock()
    for (let other = 0; other < 300; other++)
      await (await provider.lock({ ...plain, name: `other ${other}` }))?.unlock()
    expect(await (await provider.lock(plain))?.fencingToken()).toBeGreaterThan(before ?? Infinity)
  })
})
