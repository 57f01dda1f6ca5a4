import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { parseSlot, tokenOfRetry } from '../../src/core/slots'
import { lockError } from '../lock-error'

const due = Date.UTC(2026, 9, 21, 3)
const job = { name: 'job', lockAtMostFor: '10m', slot: due }
let provider: InMemoryLockProvider
let executor: LockingTaskExecutor

beforeEach(() => {
  provider = new InMemoryLockProvider()
  executor = new LockingTaskExecutor(provider)
})

describe('a slot', () => {
  const last = Date.parse('9999-12-31T23:59:59.999Z')

  /** What is seen of the times of Temporal, whose `valueOf` throws. Node.js has them from version 26 on. */
  const instant = {
    epochMilliseconds: 1,
    valueOf() {
      throw new TypeError('Cannot convert')
    },
  }

  it.each([1, last, new Date(1), runInNewContext('new Date(1)'), instant])('may be %s', (slot) => {
    expect(parseSlot(slot, 'slot')).toBe(slot === last ? last : 1)
  })

  it.each([
    ...[NaN, -1, 0, 0.5, Infinity, last + 1, new Date(NaN), '2026-11-21', null, undefined, {}],
    ...[{ epochMilliseconds: '1' }, { epochMilliseconds: NaN }, { epochMilliseconds: -1 }],
  ])('is refused if it is %s', (slot) => {
    expect(() => parseSlot(slot, 'slot', 'job')).toThrow(
      lockError(
        'INVALID_CONFIGURATION',
        "slot of lock 'job' must be the time at which the run was due: a valid",
      ),
    )
  })

  it('that has run is not waited for', async () => {
    await (await provider.lock(job))?.unlock()
    const waiting = executor.executeWithLock({ ...job, wait: '1h' }, () => 1)
    expect(await waiting).toEqual({ executed: false, reason: 'already-run' })
  })
})

test.each([
  ['grows', due, due + 1],
  ['stays after 998 retries', due + 998, due + 998],
  ['is none after another slot', due + 999, undefined],
  ['is none after a later slot', due - 1, undefined],
])('the token of a retry %s', (_, lockedAt, token) => {
  expect(tokenOfRetry(due, lockedAt)).toBe(token)
})
