import { expect, test } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma'
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

test('the db itself is taken', () => {
  expect(prismaLockProvider(db as never)).toBeDefined()
})

test('a PrismaClient with models of these names is still one of Prisma 7', () => {
  const model = { findMany: () => undefined }
  const client = { $connect: () => undefined, $executeRawUnsafe: () => undefined, _activeProvider: 'mysql' }
  expect(prismaLockProvider({ ...client, contract: model, invalidated: model } as never)).toBeDefined()
})
