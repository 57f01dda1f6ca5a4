import { expect, test } from '@jest/globals'
import { guard, prismaLockProvider } from '../../src/prisma-8/prisma-8-lock-provider'
import { prisma8Code, prisma8NotSent } from '../../src/prisma-8/prisma-8-sql-client'
import { prismaContract } from '../../src/prisma-8/prisma-contract'
import { guard as guardOfPrisma } from '../../src/prisma/guard'
import { prismaLockProvider as providerOfPrisma } from '../../src/prisma/prisma-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { migrated, openMemory } from '../backends/open-database'
import { lockError } from '../lock-error'

const db = { contract: { target: 'postgres' }, raw: { sql: () => undefined }, runtime: () => undefined }

test.each([
  ['a client for MongoDB', { ...db, contract: { target: 'mongo' } }, /'mongo' .* supported is postgres/],
  ['one for SQLite', { ...db, contract: { target: 'sqlite' } }, /'sqlite' .* supported is postgres/],
  ['one of /serverless', { ...db, runtime: undefined }, /no runtime\(\)/],
  ['one without a raw lane', { ...db, raw: undefined }, /no raw\.sql/],
  ['a transaction', { invalidated: false, execute: () => undefined }, /transaction/],
])('%s of Prisma 8 is refused', (_, client, message) => {
  const refused = lockError('INVALID_CLIENT', message)
  expect(() => prismaLockProvider(client as never)).toThrow(refused)
})

const model = { findMany: () => undefined }
const client = { $connect: () => undefined, $executeRawUnsafe: () => undefined, _activeProvider: 'mysql' }
const tx = { invalidated: false, execute: () => undefined, query: () => undefined }

test('each entry point names the other for the clients that it does not take', async () => {
  const forOther = lockError('INVALID_CLIENT', /shedlock-orm\/prisma for Prisma 6 and 7/)
  const for8 = lockError('INVALID_CLIENT', /shedlock-orm\/prisma-8/)
  const prisma7 = { ...client, contract: model, invalidated: model }
  expect(() => prismaLockProvider(prisma7 as never)).toThrow(forOther)
  expect(() => prismaLockProvider(undefined as never)).toThrow(forOther)
  expect(providerOfPrisma(prisma7 as never)).toBeDefined()
  for (const wrong of [db, tx]) expect(() => providerOfPrisma(wrong as never)).toThrow(for8)

  const provider = typeOrmLockProvider(await openMemory(migrated()))
  const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
  await expect(guardOfPrisma(tx as never, lock)).rejects.toEqual(for8)
  await expect(guard(prisma7 as never, lock)).rejects.toEqual(
    lockError('INVALID_CLIENT', /transaction of Prisma 8/),
  )
  await expect(guard(tx as never, lock)).rejects.toEqual(lockError('INVALID_CLIENT', /another client/))
})

const MARKER = { code: 'CONTRACT.MARKER_READ_FAILED', severity: 'error' }
const noConnection = new Error('timeout exceeded when trying to connect')

test.each([
  ['23505', false, { sqlState: '23505', cause: { severity: 'ERROR', code: '23505' } }],
  ['42501', false, { ...MARKER, cause: { cause: { severity: 'ERROR', code: '42501' } } }],
  [undefined, false, { sqlState: '57P01', cause: { severity: 'FATAL', code: '57P01' } }],
  [undefined, true, { sqlState: '57P03', cause: { severity: 'FATAL', code: '57P03' } }],
  [undefined, false, { sqlState: 'EPIPE', cause: { code: 'EPIPE', syscall: 'write' } }],
  [undefined, true, { ...MARKER, cause: { code: 'ECONNREFUSED' } }],
  [undefined, false, { code: 'DRIVER.NOT_CONNECTED', severity: 'error' }],
  [undefined, true, noConnection],
  [undefined, false, undefined],
])('an error of Prisma 8 has the code %s, and means that nothing was sent: %s', (code, notSent, error) => {
  expect([prisma8Code(error), prisma8NotSent(error)]).toEqual([code, notSent])
})

test('a contract that does not fit the database is reported at once', async () => {
  let queries = 0
  const query = () => {
    queries++
    return Promise.reject(Object.assign(new Error('hash mismatch'), { code: 'CONTRACT.MARKER_MISMATCH' }))
  }
  const tag = () => ({ affectedCount: () => ({ build: () => undefined }) })
  const runtime = () => ({ query })
  const provider = prismaLockProvider({ ...db, raw: { sql: tag }, runtime } as never)
  const locking = provider.lock({ name: 'job', lockAtMostFor: '1m' })
  await expect(locking).rejects.toEqual(lockError('DATABASE_ERROR', /hash mismatch/))
  // For the check of the table, and for the lock.
  expect(queries).toBe(2)
})

test('the lock table for a contract of Prisma 8, also with other names, and a schema as a namespace', () => {
  expect(prismaContract()).toBe(`/// A lock of ShedLock; times are UTC.
model ShedLock {
  name      VarChar(64)        @id
  lockUntil TimestampString(3) @map("lock_until")
  lockedAt  TimestampString(3) @map("locked_at")
  lockedBy  VarChar(255)       @map("locked_by")

  @@map("shedlock")
}
`)
  const columnNames = { name: 'jobName', lockUntil: 'until' }
  const named = prismaContract({ schema: 'app', tableName: 'Locks', columnNames })
  expect(named).toMatch(/^namespace app {\n {2}\/\/\/ .*\n {2}model ShedLock {\n[^]*\n {2}}\n}\n$/)
  for (const part of ['@id @map("jobName")', '@map("until")', '@@map("Locks")']) expect(named).toContain(part)
})
