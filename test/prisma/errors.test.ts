import { describe, expect, test } from '@jest/globals'
import { prismaLockProvider, type PrismaClientLike } from '../../src/prisma/internal'
import { CONFLICTS, nativeCode, notSent } from '../../src/prisma/native-code'
import { dialects } from '../../src/sql/internal'
import { prismaBackends } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'
import { lockError } from '../lock-error'

const codeOf = (work: PromiseLike<unknown>) => work.then(() => 'none', nativeCode)

describeBackends(prismaBackends())('errors of Prisma on $name by $adapter', (backend) => {
  test('have the code of the server: of a row that is there already, and of a statement that is refused', async () => {
    const { prisma } = await openPrisma(backend)
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

describe('errors that Prisma 6 makes without a driver adapter', () => {
  const pool = { connection_limit: 1, timeout: 10 }

  test.each([
    ['23505', false, { code: 'P2010', meta: { code: '23505', message: 'duplicate key' } }],
    ['P2034', false, { code: 'P2034', meta: {} }],
    ['P2002', false, { code: 'P2002', meta: { target: ['name'] } }],
    [undefined, true, { code: 'P2024', meta: pool }],
    [
      undefined,
      false,
      { code: 'P2028', meta: { error: 'Unable to start a transaction in the given time.' } },
    ],
    [undefined, true, { name: 'PrismaClientInitializationError', errorCode: 'P1001' }],
    // An engine says it of a connection that breaks, too.
    [undefined, false, { code: 'P1001', meta: { database_location: '127.0.0.1:5432' } }],
    [undefined, false, { code: 'P1017', meta: {} }],
  ])('have the code %s, and mean that nothing was sent: %s', (code, sentNothing, error) => {
    expect([nativeCode(error), notSent(error)]).toEqual([code, sentNothing])
  })
})
