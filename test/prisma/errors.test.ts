import { describe, expect, test } from '@jest/globals'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { dialects } from '../../src/sql/dialects'
import type { DialectName } from '../../src/sql/dialect'
import { CONFLICTS, driverOf } from '../../src/prisma/prisma-driver'
import { prismaBackends } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'
import { lockError } from '../lock-error'

describeBackends(prismaBackends())('errors of Prisma on $name by $adapter', (backend) => {
  test('have the code of the server: of a row that is there already, and of a statement that is refused', async () => {
    const { prisma } = await openPrisma(backend)
    const codeOf = (work: PromiseLike<unknown>) =>
      work.then(() => 'none', driverOf(backend.dialect).errorCode)
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
  const everyMember: unknown = new Proxy(() => undefined, { get: () => everyMember })
  const forMocks = / In a test whose client is a mock, use InMemoryLockProvider/
  test.each([
    ['nothing', undefined, forMocks],
    ['another object', { query: () => undefined }, forMocks],
    ['a client for MongoDB', client({ _activeProvider: 'mongodb' }), /'mongodb' cannot keep locks/],
    ['a client that does not tell its database', client({}), forMocks],
    ['a mock that has every member', everyMember, forMocks],
  ])('is refused: %s', (_, value, message) => {
    expect(() => prismaLockProvider(value as PrismaClientLike)).toThrow(lockError('INVALID_CLIENT', message))
  })

  test.each([
    [{ schema: '' }, {}, 'shedlock'],
    [{ schema: 'app' }, {}, 'app.shedlock'],
    [{ schema: 'app' }, { schema: 'other' }, 'other.shedlock'],
  ])('a client that tells only its adapter, with %j, is taken with %j for %s', (own, options, table) => {
    const prisma = client({ _engineConfig: { adapter: { provider: 'postgres', options: own } } })
    expect(prismaLockProvider(prisma, options).description).toBe(`the table ${table} (postgres)`)
  })

  test('a client that does not tell its database is taken with a dialect', () => {
    expect(prismaLockProvider(client({}), { dialect: 'postgres' })).toBeDefined()
    expect(() => prismaLockProvider(client({}), { dialect: 'constructor' as never })).toThrow(
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

/** What Prisma's Rust engine reports for a raw statement; the message is read only for 1180. */
const raw = (code: string, message = 'N/A') => ({ code: 'P2010', meta: { code, message } })
const engine = (code: string) => ({ code, meta: {} })
const initialization = (errorCode?: string) => ({ name: 'PrismaClientInitializationError', errorCode })
const adapter = (cause: object) => ({ code: 'P2010', meta: { driverAdapterError: { cause } } })

/**
 * The native engine cannot be made to fail everywhere, so these are recorded shapes. For a raw statement, it reports every error of
 * the server as P2010 with the server's code, and a connection that failed without an answer as P2010 with `N/A`, or P1017; see
 * `RawError` in https://github.com/prisma/prisma-engines/blob/main/query-engine/connectors/sql-query-connector/src/error.rs.
 * Errors of the pool and while connecting have codes of their own:
 * https://github.com/prisma/prisma-engines/blob/main/libs/user-facing-errors/src/quaint.rs.
 */
const OF_ENGINE: readonly (readonly [DialectName, error: object, Meaning])[] = [
  ['postgres', raw('23505', 'a row that is there already'), answer('23505')],
  ['postgres', raw('45000', "a trigger's own error"), answer('45000')],
  ['postgres', raw('57P01', 'a server that stops'), UNKNOWN],
  ['mysql', raw('1053', 'a server that stops'), UNKNOWN],
  ['mysql', raw('1180', 'Got error 149 - Lock deadlock'), answer('1213')],
  ['mysql', raw('1180', 'Got error 5'), UNKNOWN],
  ['sqlite', raw('5', 'a busy file'), answer('SQLITE_BUSY')],
  ['sqlite', raw('517', 'a file that changed since it was read'), answer('SQLITE_BUSY_SNAPSHOT')],
  ['sqlite', raw('1555', 'a duplicate'), answer('SQLITE_CONSTRAINT_PRIMARYKEY')],
  ['sqlite', raw('2570', 'a file that cannot be read'), answer('SQLITE_ERROR')],
  ['mssql', raw('2627', 'a duplicate'), answer('2627')],
  ['mssql', raw('596', 'a fatal error'), UNKNOWN],
  // The codes of one database are those of another.
  ['mysql', raw('2067', "a number of SQLite's duplicates"), UNKNOWN],
  ['mysql', raw('1555', "a number of SQLite's primary keys"), answer('1555')],
  // A connection that broke, a socket_timeout, or a result that cannot be read.
  ['postgres', raw('N/A'), UNKNOWN],
  ['mysql', raw('N/A'), UNKNOWN],
  ['postgres', { name: 'PrismaClientRustPanicError', message: 'PANIC' }, UNKNOWN],
  // An engine says P1001 of a connection that breaks, too.
  ...['P1001', 'P1008', 'P1017', 'P2028'].map((code) => ['postgres', engine(code), UNKNOWN] as const),
  ...['P2002', 'P2034'].map((code) => ['postgres', engine(code), answer(code)] as const),
  // A pool that timed out, a server without room, and a TLS connection that failed.
  ...['P2024', 'P2037', 'P1011'].map((code) => ['postgres', engine(code), NOT_SENT] as const),
  // A wrong password, and a database that does not exist.
  ...['P1000', 'P1003'].map((code) => ['mysql', engine(code), NEVER_SENT] as const),
  ['postgres', initialization('P1001'), NOT_SENT],
  // A wrong password, an invalid URL, and an engine that is missing.
  ...['P1000', 'P1013', undefined].map((code) => ['postgres', initialization(code), NEVER_SENT] as const),
]

const OF_ADAPTERS: typeof OF_ENGINE = [
  // A code that another driver uses.
  ['mariadb', adapter({ originalCode: '2067', kind: 'mysql' }), UNKNOWN],
  ['sqlite', adapter({ originalCode: '2067' }), answer('SQLITE_CONSTRAINT_UNIQUE')],
  // A pool of the driver that timed out.
  ['mariadb', adapter({ originalCode: '45028', kind: 'mysql' }), NOT_SENT],
  // One that is closed.
  ['mariadb', adapter({ originalCode: '45027', kind: 'mysql' }), NEVER_SENT],
  ['postgres', adapter({ originalCode: '45028', kind: 'postgres' }), answer('45028')],
  ['mssql', adapter({ originalCode: 'EREQUEST', kind: 'UniqueConstraintViolation' }), answer('P2002')],
  ['mssql', adapter({ originalCode: 'EREQUEST', kind: 'TableDoesNotExist' }), answer('TableDoesNotExist')],
  // A time-out, and a fatal error.
  ['mssql', adapter({ originalCode: 'EREQUEST', kind: 'mssql', code: 1222 }), answer('1222')],
  ['mssql', adapter({ originalCode: 'EREQUEST', kind: 'mssql', code: 596 }), UNKNOWN],
  ['postgres', adapter({ kind: 'ConnectionClosed' }), UNKNOWN],
  // Of D1.
  ['sqlite', adapter({ kind: 'TableDoesNotExist' }), answer('TableDoesNotExist')],
]

test.each([...OF_ENGINE, ...OF_ADAPTERS])('an error on %s has a meaning: %j', (dialect, error, expected) => {
  const { errorCode, notSent, lasts } = driverOf(dialect)
  expect([errorCode(error), !notSent(error), lasts(error)]).toEqual(expected)
})
