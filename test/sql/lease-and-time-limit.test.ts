import { afterEach, describe, expect, it, jest } from '@jest/globals'
import type { LockError } from '../../src/core/internal'
import { dialects, DriverError, SqlLockProvider, type SqlValues } from '../../src/sql/internal'
import { type StatementSender, clientOf } from '../statement-sender'

const COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'].map((column_name) => ({
  column_name,
  column_type: 'text',
  nullable: 0,
  unique_keys: 1,
}))

/** Answers at once: that the lock is taken, that it is extended. */
const immediate: StatementSender = {
  execute: () => Promise.resolve(1),
  query: (statement) =>
    Promise.resolve(statement.pieces.join('').includes('pragma_table_info') ? COLUMNS : []),
}

describe('the lease in a database whose clock is cut to milliseconds', () => {
  it('is trusted a millisecond less, because it may have begun that much earlier', async () => {
    const provider = new SqlLockProvider(clientOf(immediate), dialects.sqlite)
    for (let count = 0; count < 100; count++) {
      const lock = await provider.lock({ name: 'job', lockAtMostFor: 60_000 })
      expect(lock?.remaining()).toBeLessThanOrEqual(59_999)
      await lock?.extend(120_000)
      expect(lock?.remaining()).toBeGreaterThan(60_000)
      expect(lock?.remaining()).toBeLessThanOrEqual(119_999)
    }
  })
})

afterEach(() => {
  jest.useRealTimers()
})

describe('the lease of a lock whose answers are late', () => {
  it('counts from before the request, that of an extension too', async () => {
    jest.useFakeTimers()
    const execute = () => new Promise<number>((resolve) => setTimeout(resolve, 500, 1))
    const provider = new SqlLockProvider(clientOf({ ...immediate, execute }), dialects.sqlite)
    const locking = provider.lock({ name: 'job', lockAtMostFor: 60_000 })
    await jest.advanceTimersByTimeAsync(500)
    const lock = await locking
    expect(lock?.remaining()).toBe(59_499)
    const extending = lock?.extend(120_000)
    await jest.advanceTimersByTimeAsync(500)
    await extending
    expect(lock?.remaining()).toBe(119_499)
  })
})

describe('the lease of a lock that was acquired only at the second attempt', () => {
  it('counts from that attempt, even if the first took longer than the lease', async () => {
    jest.useFakeTimers()
    const busyAtFirst = jest
      .fn(() => Promise.resolve(1))
      .mockImplementationOnce(async () => {
        await new Promise((resolve) => setTimeout(resolve, 2_000))
        throw new DriverError('SQLITE_BUSY', 'database is locked')
      })
    const provider = new SqlLockProvider(clientOf({ ...immediate, execute: busyAtFirst }), dialects.sqlite)
    const lock = provider.lock({ name: 'job', lockAtMostFor: 1_000 })
    await jest.advanceTimersByTimeAsync(2_010)
    expect((await lock)?.remaining()).toBeGreaterThan(900)
  })
})

describe('the record of a run whose lock stays held', () => {
  it.each(['at once', 'at the second attempt'])(
    'ends with the run, and not with the row, which began before the answer: released %s',
    async (when) => {
      jest.useFakeTimers()
      const owners: unknown[] = []
      const slow = (result: number) => new Promise<number>((resolve) => setTimeout(resolve, 500, result))
      const execute: StatementSender['execute'] = async (_, { unlockedBy }) => {
        if (unlockedBy !== undefined) owners.push(unlockedBy)
        const changed = await slow(1)
        if (when === 'at once' || owners.length !== 1) return changed
        throw new DriverError('SQLITE_BUSY', 'database is locked')
      }
      const provider = new SqlLockProvider(clientOf({ ...immediate, execute }), dialects.sqlite)
      const locking = provider.lock({ name: 'job', lockAtMostFor: 60_000, lockAtLeastFor: 60_000 })
      await jest.advanceTimersByTimeAsync(500)
      const lock = await locking
      await jest.advanceTimersByTimeAsync(1_000)
      const unlocking = lock?.unlock({ outcome: 'succeeded' })
      await jest.advanceTimersByTimeAsync(2_000)
      await unlocking
      expect(owners).toHaveLength(when === 'at once' ? 1 : 2)
      // The row ends 60 s after the request; the run ended 1.5 s after it.
      expect(owners.at(-1)).toMatch(/\/1000\+58500 succeeded$/)
    },
  )
})

describe('an extension', () => {
  it.each([
    ['a new lockAtLeastFor, from the acquisition on', [120_000, 90_000], 80_000],
    ['no lockAtLeastFor, so that it stays', [120_000, undefined], 50_000],
    ['less than what is left, which changes nothing', [1_000, undefined], 50_000],
  ] as const)('has %s', async (_, [atMost, atLeast], kept) => {
    jest.useFakeTimers()
    const sent: SqlValues[] = []
    const execute: StatementSender['execute'] = (statement, values) => {
      sent.push(values)
      return immediate.execute(statement, values)
    }
    const provider = new SqlLockProvider(clientOf({ ...immediate, execute }), dialects.sqlite)
    const lock = await provider.lock({ name: 'job', lockAtMostFor: 60_000, lockAtLeastFor: 60_000 })
    await lock?.extend(atMost, atLeast)
    await jest.advanceTimersByTimeAsync(10_000)
    await lock?.unlock({ outcome: 'succeeded' })
    expect(sent.at(-1)).toMatchObject({ keepFor: kept })
    expect(sent.at(-1)?.['unlockedBy']).toMatch(new RegExp(`/10000\\+${kept} succeeded$`))
  })

  it('that changes no row, because the row is gone, loses the lock', async () => {
    let changes = 1
    const sender = { ...immediate, execute: () => Promise.resolve(changes) }
    const lock = await new SqlLockProvider(clientOf(sender), dialects.sqlite).lock({
      name: 'job',
      lockAtMostFor: '1m',
    })
    changes = 0
    await expect(lock?.extend('2m')).rejects.toMatchObject({ code: 'LOCK_LOST' })
  })
})

describe('a lock whose statements are slow', () => {
  const readOnly = () => Promise.reject(new DriverError('SQLITE_READONLY', 'a readonly database'))
  const NEVER = 0
  const ahead = [{ outcome: 'slot-too-far-ahead' }]

  it.each<
    [when: string, code: string, pauses: number[], more: Partial<StatementSender>, slot: number | undefined]
  >([
    ['the table was looked at before it', 'TIMEOUT', [700, 700, NEVER], {}, undefined],
    [
      'an error is explained by the table',
      'DATABASE_ERROR',
      [0, 0, 700, 700, NEVER],
      { execute: readOnly },
      undefined,
    ],
    ['the clock is read that its slot is ahead of', 'TIMEOUT', [0, 700, 700, NEVER], {}, 4e12],
    ['it is told only afterwards that its slot is too far ahead', 'TIMEOUT', [0, 1_400, NEVER], {}, 4e12],
  ])('ends within the time limit and sends nothing more, also if %s', async (_, code, pauses, more, slot) => {
    jest.useFakeTimers()
    const slow = async <T>(answer: () => Promise<T>): Promise<T> => {
      await new Promise((resolve) => setTimeout(resolve, pauses.shift()))
      return answer()
    }
    const { execute, query } = { ...immediate, ...more }
    const executor: StatementSender = {
      execute: (...all) => slow(() => execute(...all)),
      query: (...all) =>
        slow(async () => {
          const rows = await query(...all)
          return rows.length > 0 || slot === undefined ? rows : ahead
        }),
    }
    const provider = new SqlLockProvider(clientOf(executor), dialects.sqlite, { timeLimit: 1_000 })
    const started = Date.now()
    const ended = provider
      .lock({ name: 'job', lockAtMostFor: '1m', slot })
      .then(String, (error: unknown) => [(error as LockError).code, Date.now() - started])
    await jest.advanceTimersByTimeAsync(10_000)
    expect(await ended).toEqual([code, 1_000])
    expect(pauses).toEqual([NEVER])
  })
})
