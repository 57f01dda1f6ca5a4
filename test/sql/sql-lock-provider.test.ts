import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import {
  type Dialect,
  dialects,
  DriverError,
  lockTableNames,
  type SqlClient,
  SqlLockProvider,
} from '../../src/sql/internal'
import { lockError } from '../lock-error'
import { type StatementSender, clientOf } from '../statement-sender'

const untouched: StatementSender = {
  execute: () => Promise.reject(new Error('the database was asked')),
  query: () => Promise.reject(new Error('the database was asked')),
}

it('names of tables and columns have up to 63 bytes on PostgreSQL, and blanks, but not at the end', () => {
  const options = { tableName: ' a table', columnNames: { name: `${'ä'.repeat(31)}a` } }
  expect(() => new SqlLockProvider(clientOf(untouched), dialects.postgres, options)).not.toThrow()
})

it.each([
  [{ lockedBy: 'a\nb' }, 'lockedBy must be a string of 1 to 218 characters without control characters'],
  ...[5, '', ' ', 'x'.repeat(219)].map((lockedBy) => [{ lockedBy }, 'lockedBy must be a string'] as const),
  ...['paused by', 'paused by me'].map(
    (lockedBy) => [{ lockedBy }, "lockedBy begins with 'paused by', which marks a pause"] as const,
  ),
  [{ timeLimit: 0 }, 'timeLimit is 0, so the database could never answer in time'],
  [{ tableName: ' ' }, 'tableName is empty'],
  [{ columnNames: { lockUntil: '' } }, 'columnNames.lockUntil is empty'],
  [{ columnNames: { name: 'LOCKED_AT' } }, 'one name for two columns (LOCKED_AT, lock_until, locked_at,'],
  [{ schema: 'a\nb' }, 'schema "a\\nb" contains control characters'],
  [{ tableName: 'a\ud800' }, 'tableName "a\\ud800" contains control characters'],
  [{ tableName: 'locks ' }, "tableName 'locks ' ends with a blank – choose a name that postgres allows"],
  [{ columnNames: { name: 'ä'.repeat(32) } }, `columnNames.name '${'ä'.repeat(32)}' is longer than 63 bytes`],
])('the options %j are refused, with the reason', (options, reason) => {
  expect(() => new SqlLockProvider(clientOf(untouched), dialects.postgres, options as never)).toThrow(
    lockError('INVALID_CONFIGURATION', reason),
  )
})

it.each([
  [dialects.mysql, 'a/*b', 'contains characters that do not work on mysql'],
  [dialects.mysql, '🔒', 'contains characters that do not work on mysql'],
  [dialects.mysql, 'x'.repeat(65), 'is longer than 64 bytes'],
  [dialects.sqlite, 'x'.repeat(256), 'is longer than 255 bytes'],
])('a name that another database may allow is refused: %#', (dialect, tableName, reason) => {
  expect(() => new SqlLockProvider(clientOf(untouched), dialect, { tableName })).toThrow(
    lockError('INVALID_CONFIGURATION', reason),
  )
})

it.each([undefined, 'postgres', { name: 'postgres' }])('%o is refused at once as a dialect', (dialect) => {
  expect(() => new SqlLockProvider(clientOf(untouched), dialect as Dialect)).toThrow(
    lockError('INVALID_CONFIGURATION', 'pass one of dialects: dialects.postgres, dialects.cockroachdb, '),
  )
})

it.each([undefined, 'postgres://', { query: () => [] }])('%o is refused at once as a client', (client) => {
  expect(() => new SqlLockProvider(client as unknown as SqlClient, dialects.postgres)).toThrow(
    lockError('INVALID_CLIENT', 'pass what sqlClient of shedlock-orm/drivers returns'),
  )
})

it('a provider and its callers drain with the default timeout, and refuse a wrong one', async () => {
  const provider = new SqlLockProvider(clientOf(untouched), dialects.sqlite)
  await provider.drain()
  await provider.forCaller().drain?.()
  await expect(provider.drain('soon')).rejects.toEqual(lockError('INVALID_CONFIGURATION', 'timeout'))
  await expect(provider.forCaller().drain?.('soon')).rejects.toEqual(
    lockError('INVALID_CONFIGURATION', 'timeout'),
  )
})

it.each([
  [dialects.postgres, 'the table shedlock (postgres)'],
  [dialects.oracle, 'the table SHEDLOCK (oracle, never tested on a real server)'],
])('a provider says whether its database was ever met: %#', (dialect, description) => {
  expect(new SqlLockProvider(clientOf(untouched), dialect).description).toBe(description)
})

it('names that are given keep their case, where the others are in upper case', () => {
  const names = lockTableNames({ tableName: 'Locks', columnNames: { name: 'Name' } }, dialects.oracle)
  expect(names).toMatchObject({ tableName: 'Locks', columnNames: { name: 'Name', lockUntil: 'LOCK_UNTIL' } })
})

it('a time limit longer than any timer waits', async () => {
  const slow: StatementSender = { ...untouched, query: () => sleep(10, []) }
  const provider = new SqlLockProvider(clientOf(slow), dialects.sqlite, { timeLimit: '60d' })
  await expect(provider.table.list()).resolves.toEqual([])
})

const DENIED = lockError('DATABASE_ERROR', /1142.* grant this user the right to create tables/)
it.each([
  [
    'cannot be checked again',
    () => Promise.reject(new DriverError(undefined, 'the connection broke')),
    DENIED,
  ],
  ['is still missing', () => Promise.resolve([]), DENIED],
  ['is another one', () => Promise.resolve([{ column_name: 'name' }]), lockError('TABLE_MISMATCH')],
])('an operator learns why the table could not be created, although it %s', async (_, again, error) => {
  const answers = [Promise.resolve([])]
  const denied: StatementSender = {
    execute: () => Promise.reject(new DriverError('1142', new Error('CREATE command denied to user'))),
    query: () => answers.shift() ?? again(),
  }
  // On PostgreSQL another read comes before what is repeated.
  const { table } = new SqlLockProvider(clientOf(denied), dialects.mysql)
  await expect(table.create()).rejects.toEqual(error)
})

it.each(Object.values(dialects))(
  'a count of changed rows that the client on $name does not report is an error, and not a lock',
  async (dialect) => {
    const countless: StatementSender = {
      execute: () => Promise.resolve(NaN),
      query: () => Promise.resolve([]),
    }
    const { table } = new SqlLockProvider(clientOf(countless), dialect)
    const seen = { name: 'job', lockedBy: 'me', lockUntil: new Date() }
    await expect(table.release(seen)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
  },
)
