import { DataSource } from 'typeorm'
import { describe, expect, it } from '@jest/globals'
import { prismaLockProvider, prismaModel, shedlock } from '../../src/prisma/internal'
import { prismaContract, prismaLockProvider as prisma8LockProvider } from '../../src/prisma-8/internal'
import { prismaMigration } from '../../src/prisma/prisma-model'
import { executeOnce } from '../../src/core/internal'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { createShedLockMigration, shedLockEntity, typeOrmLockProvider } from '../../src/typeorm/internal'
import { clientOf } from '../statement-sender'

/** TypeScript refuses it, JavaScript does not. */
const none = null as never
const dialect = dialects.sqlite
const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
const prisma = {
  _activeProvider: 'postgresql',
  $connect: () => Promise.resolve(),
  $executeRawUnsafe: () => Promise.resolve(0),
  $queryRawUnsafe: () => Promise.resolve([]),
} as never
const prisma8 = { contract: { target: 'postgres' }, raw: { sql: () => 0 }, runtime: () => 0 } as never
const executor = { execute: () => Promise.resolve(0), query: () => Promise.resolve([]) }
const provider = new SqlLockProvider(clientOf(executor), dialect)

const refused = expect.objectContaining({ name: 'LockError', code: 'INVALID_CONFIGURATION' })

describe('null in place of options', () => {
  it.each<[string, () => unknown]>([
    ['typeOrmLockProvider', () => typeOrmLockProvider(dataSource, none)],
    ['shedLockEntity', () => shedLockEntity(none)],
    ['createShedLockMigration', () => createShedLockMigration(none)],
    ['prismaLockProvider', () => prismaLockProvider(prisma, none)],
    ['prismaLockProvider of Prisma 8', () => prisma8LockProvider(prisma8, none)],
    ['shedlock', () => shedlock(none)(prisma)],
    ['prismaModel', () => prismaModel('mysql', none)],
    ['prismaMigration', () => prismaMigration('mysql', none)],
    ['prismaContract', () => prismaContract(none)],
    ['SqlLockProvider', () => new SqlLockProvider(clientOf(executor), dialect, none)],
    ['columnNames', () => new SqlLockProvider(clientOf(executor), dialect, { columnNames: none })],
  ])('is refused: %s', (_, call) => {
    expect(call).toThrow(refused)
  })

  it.each<[string, () => Promise<unknown>]>([
    ['lock, a configuration', () => provider.lock(none)],
    ['drain', () => provider.drain(none)],
    ['overdue, limits', () => provider.table.overdue(none)],
    ['overdue, options', () => provider.table.overdue({ job: '1m' }, none)],
    ['pause', () => provider.table.pause('job', none)],
    ['executeOnce', () => executeOnce(provider, none, () => undefined)],
  ])('is refused: %s', async (_, call) => {
    await expect(call()).rejects.toEqual(refused)
  })
})
