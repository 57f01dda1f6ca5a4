import { describe, expect, test } from '@jest/globals'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { dialects, type DialectName } from '../../src/sql/dialects'
import { CONFLICTS, errorsOf } from '../../src/prisma/native-code'
import { prismaBackends } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'
import { lockError } from '../lock-error'

describeBackends(prismaBackends())('errors of Prisma on $name by $adapter', (backend) => {
  test('have the code of the server: of a row that is there already, and of a statement that is refused', async () => {
    const { prisma } = await openPrisma(backend)
    const codeOf = (work: PromiseLike<unknown>) =>
      work.then(() => 'none', errorsOf(backend.dialect).errorCode)
    const insert = `insert into shedlock values ('a', '2020-01-01 00:00:00.000', '2020-01-01 00:00:00.000', 'me')`
    await prisma.$executeRawUnsafe(insert)
    // Of SQL Server's number Prisma leaves the kind.
    const lostRaces = { ...dialects[backend.dialect].transientErrors, ...CONFLICTS }
    expect(lostRaces).toHaveProperty(String(await codeOf(prisma.$executeRawUnsafe(insert))))
    expect(await codeOf(prisma.$executeRawUnsafe('delete from missing'))).toMatch(
      /^(42P01|1146|TableDoesNotExist|SQLITE_ERROR|1)$/,
    )
  })
})

describe('what is no PrismaClient', () => {
  const client = (rest: object): PrismaClientLike =>
    Object.assign(
      { $connect: () => undefined, $executeRawUnsafe: () => undefined } as unknown as PrismaClientLike,
      rest,
    )
  test.each([
    ['nothing', undefined],
    ['another object', { query: () => undefined }],
    ['a client for MongoDB', client({ _activeProvider: 'mongodb' })],
    ['a client that does not tell its database', client({})],
  ])('is refused: %s', (_, value) => {
    expect(() => prismaLockProvider(value as PrismaClientLike)).toThrow(lockError('INVALID_CLIENT'))
  })

  test('a client that does not tell its database is taken with a dialect', () => {
    expect(prismaLockProvider(client({}), { dialect: 'postgres' })).toBeDefined()
    expect(() => prismaLockProvider(client({}), { dialect: 'db2' as never })).toThrow(
      lockError('INVALID_CONFIGURATION'),
    )
  })
})

/** The server's code, whether the statement may have been sent, and whether the error remains. */
type Meaning = readonly [code: string | undefined, sent: boolean, lasts: boolean]
const UNKNOWN: Meaning = [undefined, true, false]
const NOT_SENT: Meaning = [undefined, false, false]
const NEVER_SENT: Meaning = [undefined, false, true]
const answer = (code: string): Meaning => [code, true, false]

const meaning = (dialect: DialectName, error: object): Meaning => {
  const { errorCode, notSent, lasts } = errorsOf(dialect)
  return [errorCode(error), !notSent(error), lasts(error)]
}
const initialization = (errorCode?: string) => ({ name: 'PrismaClientInitializationError', errorCode })
const raw = (code: string, message = 'N/A') => ({ code: 'P2010', meta: { code, message } })

/**
 * The native engine cannot be made to fail everywhere, so these are recorded shapes. For a raw statement, it reports every error of
 * the server as P2010 with the server's code, and a connection that failed without an answer as P2010 with `N/A`, or P1017; see
 * `RawError` in https://github.com/prisma/prisma-engines/blob/main/query-engine/connectors/sql-query-connector/src/error.rs.
 * Errors of the pool and while connecting have codes of their own:
 * https://github.com/prisma/prisma-engines/blob/main/libs/user-facing-errors/src/quaint.rs.
 */
describe("an error of Prisma's Rust engine", () => {
  test.each<[title: string, DialectName, error: object, Meaning]>([
    [
      'a row that is there already',
      'postgres',
      raw('23505', 'Key (name)=(a) already exists.'),
      answer('23505'),
    ],
    ['a serialization failure', 'postgres', raw('40001', 'could not serialize access'), answer('40001')],
    ["a trigger's own error", 'postgres', raw('45000', 'on purpose'), answer('45000')],
    ['a server that stops', 'postgres', raw('57P01', 'terminating connection'), UNKNOWN],
    ['a duplicate', 'mysql', raw('1062', "Duplicate entry 'a' for key 'PRIMARY'"), answer('1062')],
    ['a deadlock', 'mariadb', raw('1213', 'Deadlock found'), answer('1213')],
    ['a server that stops', 'mysql', raw('1053', 'Server shutdown in progress'), UNKNOWN],
    [
      'a failed commit that lost a race',
      'mysql',
      raw('1180', 'Got error 149 - Lock deadlock'),
      answer('1213'),
    ],
    ['a failed commit for another reason', 'mysql', raw('1180', 'Got error 5'), UNKNOWN],
    ['a busy file', 'sqlite', raw('5', 'database is locked'), answer('SQLITE_BUSY')],
    [
      'a file that changed since it was read',
      'sqlite',
      raw('517', 'database is locked'),
      answer('SQLITE_BUSY_SNAPSHOT'),
    ],
    [
      'a duplicate',
      'sqlite',
      raw('1555', 'UNIQUE constraint failed: shedlock.name'),
      answer('SQLITE_CONSTRAINT_PRIMARYKEY'),
    ],
    ['a file that cannot be read', 'sqlite', raw('2570', 'disk I/O error'), answer('SQLITE_ERROR')],
    ['a duplicate', 'mssql', raw('2627', 'Violation of PRIMARY KEY constraint'), answer('2627')],
    ['a fatal error', 'mssql', raw('596', 'Cannot continue the execution'), UNKNOWN],
    // The codes of one database are those of another.
    ["a number of SQLite's duplicates", 'mysql', raw('2067'), UNKNOWN],
    ["a number of SQLite's primary keys", 'mysql', raw('1555'), answer('1555')],
    ['a connection that broke, or a socket_timeout', 'postgres', raw('N/A'), UNKNOWN],
    ['a connection that broke, or a socket_timeout', 'mysql', raw('N/A'), UNKNOWN],
    ['a connection that the server closed', 'postgres', { code: 'P1017', meta: {} }, UNKNOWN],
    [
      'a result that cannot be read',
      'postgres',
      raw('N/A', "Failed to deserialize column of type 'name'"),
      UNKNOWN,
    ],
    ['a panic', 'postgres', { name: 'PrismaClientRustPanicError', message: 'PANIC' }, UNKNOWN],
    [
      'an unknown error',
      'mysql',
      { name: 'PrismaClientUnknownRequestError', message: 'Error occurred' },
      UNKNOWN,
    ],
    ['an operation that timed out', 'sqlite', { code: 'P1008', meta: {} }, UNKNOWN],
    ['a write conflict', 'postgres', { code: 'P2034', meta: {} }, answer('P2034')],
    ['a unique constraint', 'postgres', { code: 'P2002', meta: { target: ['name'] } }, answer('P2002')],
    // An engine says it of a connection that breaks, too.
    [
      'a server that is not reachable',
      'postgres',
      { code: 'P1001', meta: { database_location: '127.0.0.1:5432' } },
      UNKNOWN,
    ],
    [
      'a transaction that could not start',
      'sqlite',
      { code: 'P2028', meta: { error: 'Unable to start a transaction' } },
      UNKNOWN,
    ],
    [
      'a pool that timed out',
      'postgres',
      { code: 'P2024', meta: { connection_limit: 1, timeout: 10 } },
      NOT_SENT,
    ],
    [
      'a server without room',
      'postgres',
      { code: 'P2037', meta: { message: 'too many clients already' } },
      NOT_SENT,
    ],
    ['a TLS connection that failed', 'postgres', { code: 'P1011', meta: {} }, NOT_SENT],
    ['a wrong password', 'mysql', { code: 'P1000', meta: { database_user: 'me' } }, NEVER_SENT],
    [
      'a database that does not exist',
      'postgres',
      { code: 'P1003', meta: { database_name: 'app' } },
      NEVER_SENT,
    ],
    ['a server that is not reachable at the start', 'postgres', initialization('P1001'), NOT_SENT],
    ['a wrong password at the start', 'postgres', initialization('P1000'), NEVER_SENT],
    ['an invalid URL at the start', 'postgres', initialization('P1013'), NEVER_SENT],
    ['an engine that is missing', 'postgres', initialization(), NEVER_SENT],
  ])('has the meaning of %s on %s', (_, dialect, error, expected) => {
    expect(meaning(dialect, error)).toEqual(expected)
  })
})

describe('an error of a driver adapter', () => {
  const adapter = (cause: object) => ({ code: 'P2010', meta: { driverAdapterError: { cause } } })
  test.each<[title: string, DialectName, error: object, Meaning]>([
    ['a code that another driver uses', 'mariadb', adapter({ originalCode: '2067', kind: 'mysql' }), UNKNOWN],
    [
      'a code that another driver uses',
      'sqlite',
      adapter({ originalCode: '2067' }),
      answer('SQLITE_CONSTRAINT_UNIQUE'),
    ],
    [
      'a pool of the driver that timed out',
      'mariadb',
      adapter({ originalCode: '45028', kind: 'mysql' }),
      NOT_SENT,
    ],
    [
      "a number of another driver's pool",
      'postgres',
      adapter({ originalCode: '45028', kind: 'postgres' }),
      answer('45028'),
    ],
    [
      'a duplicate',
      'mssql',
      adapter({ originalCode: 'EREQUEST', kind: 'UniqueConstraintViolation' }),
      answer('P2002'),
    ],
    [
      'a missing table',
      'mssql',
      adapter({ originalCode: 'EREQUEST', kind: 'TableDoesNotExist' }),
      answer('TableDoesNotExist'),
    ],
    ['a time-out', 'mssql', adapter({ originalCode: 'EREQUEST', kind: 'mssql', code: 1222 }), answer('1222')],
    ['a fatal error', 'mssql', adapter({ originalCode: 'EREQUEST', kind: 'mssql', code: 596 }), UNKNOWN],
    ['a socket that closed', 'postgres', adapter({ kind: 'ConnectionClosed' }), UNKNOWN],
    ['a missing table on D1', 'sqlite', adapter({ kind: 'TableDoesNotExist' }), answer('TableDoesNotExist')],
  ])('has the meaning of %s on %s', (_, dialect, error, expected) => {
    expect(meaning(dialect, error)).toEqual(expected)
  })
})
