import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { dialects, DriverError, SqlLockProvider, type SqlExecutor } from '../../src/sql/internal'

const untouched: SqlExecutor = {
  execute: () => Promise.reject(new Error('the database was asked')),
  query: () => Promise.reject(new Error('the database was asked')),
}

it.each(Object.values(dialects))(
  'a lockedBy that the column of $name would cut, or that is none, is refused at start-up',
  (dialect) => {
    for (const lockedBy of ['x'.repeat(300), 'x'.repeat(219), '', ' ', 'a\nb']) {
      expect(() => new SqlLockProvider(untouched, dialect, { lockedBy })).toThrow(
        expect.objectContaining({ code: 'INVALID_CONFIGURATION' }),
      )
    }
    expect(() => new SqlLockProvider(untouched, dialect, { lockedBy: 'x'.repeat(218) })).not.toThrow()
  },
)

it.each(Object.values(dialects))('making a provider for $name does not ask the database', (dialect) => {
  expect(() => new SqlLockProvider(untouched, dialect)).not.toThrow()
})

it.each(Object.values(dialects))('a time limit that no timer can count waits for $name', async (dialect) => {
  const slow: SqlExecutor = { ...untouched, query: () => sleep(10, []) }
  const provider = new SqlLockProvider(slow, dialect, { timeLimit: '60d' })
  await expect(provider.listLocks()).resolves.toEqual([])
})

it('the first look at the table is repeated while another connection has the SQLite file', async () => {
  const answers = [Promise.reject(new DriverError('SQLITE_BUSY', new Error('database is locked')))]
  const busyOnce: SqlExecutor = { ...untouched, query: () => answers.shift() ?? Promise.resolve([]) }
  const provider = new SqlLockProvider(busyOnce, dialects.sqlite)
  await expect(provider.lock({ name: 'job', lockAtMostFor: '1m' })).rejects.toMatchObject({
    code: 'TABLE_MISSING',
  })
})

it('says why it could not create the table, though it cannot look again', async () => {
  const answers = [Promise.resolve([])]
  const denied: SqlExecutor = {
    execute: () => Promise.reject(new DriverError('42501', new Error('permission denied for schema public'))),
    query: () =>
      answers.shift() ?? Promise.reject(new DriverError(undefined, new Error('the connection broke'))),
  }
  const dialect = { ...dialects.postgres, schemasOf: undefined }
  await expect(new SqlLockProvider(denied, dialect).createTable()).rejects.toMatchObject({
    code: 'DATABASE_ERROR',
    message: expect.stringContaining('42501'),
  })
})

it('a count of changed rows that SQL Server asks for and nobody gives is an error, and no lock', async () => {
  const countless: SqlExecutor = { ...untouched, query: () => Promise.resolve([]) }
  const provider = new SqlLockProvider(countless, dialects.mssql)
  await expect(
    provider.releaseLock({ name: 'job', lockedBy: 'me', lockUntil: new Date() }),
  ).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
})

it.each(Object.values(dialects).filter(({ counted }) => !counted))(
  'a count of changed rows that the client on $name does not tell is an error, and no lock',
  async (dialect) => {
    const countless: SqlExecutor = { execute: () => Promise.resolve(NaN), query: () => Promise.resolve([]) }
    const provider = new SqlLockProvider(countless, dialect)
    await expect(
      provider.releaseLock({ name: 'job', lockedBy: 'me', lockUntil: new Date() }),
    ).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
  },
)
