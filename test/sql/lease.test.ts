import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { dialects, DriverError, SqlLockProvider, type SqlExecutor } from '../../src/sql'

const COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'].map((column_name) => ({
  column_name,
  column_type: 'text',
  nullable: 0,
  unique_keys: 1,
}))

/** Answers at once: that the lock is taken, that it is extended. */
const immediate: SqlExecutor = {
  execute: () => Promise.resolve(1),
  query: (statement) =>
    Promise.resolve(statement.pieces.join('').includes('pragma_table_info') ? COLUMNS : []),
}

describe('the lease in a database whose clock is cut to milliseconds', () => {
  it('is trusted a millisecond less, because it may have begun that much earlier', async () => {
    const provider = new SqlLockProvider(immediate, dialects.sqlite)
    for (let count = 0; count < 100; count++) {
      const lock = await provider.lock({ name: 'job', lockAtMostFor: 60_000 })
      expect(lock?.remaining()).toBeLessThanOrEqual(59_999)
      const longer = await lock?.extend(120_000)
      expect(longer?.remaining()).toBeGreaterThan(60_000)
      expect(longer?.remaining()).toBeLessThanOrEqual(119_999)
    }
  })
})

describe('the lease of a lock that was acquired only at the second attempt', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it('counts from that attempt, even if the first took longer than the lease', async () => {
    jest.useFakeTimers()
    const busyAtFirst = jest
      .fn(() => Promise.resolve(1))
      .mockImplementationOnce(async () => {
        await new Promise((resolve) => setTimeout(resolve, 2_000))
        throw new DriverError('SQLITE_BUSY', 'database is locked')
      })
    const provider = new SqlLockProvider({ ...immediate, execute: busyAtFirst }, dialects.sqlite)
    const lock = provider.lock({ name: 'job', lockAtMostFor: 1_000 })
    await jest.advanceTimersByTimeAsync(2_010)
    expect((await lock)?.remaining()).toBeGreaterThan(900)
  })
})
