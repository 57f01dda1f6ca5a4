import { expect, test } from '@jest/globals'
import { prismaContract } from '../../src/prisma'

test('the lock table for a contract of Prisma 8', () => {
  expect(prismaContract('postgresql')).toBe(`/// A lock of ShedLock; times are UTC.
model ShedLock {
  name      VarChar(64)        @id
  lockUntil TimestampString(3) @map("lock_until")
  lockedAt  TimestampString(3) @map("locked_at")
  lockedBy  VarChar(255)       @map("locked_by")

  @@map("shedlock")
}
`)
})

test('other names, and a schema as a namespace', () => {
  const columnNames = { name: 'jobName', lockUntil: 'until' }
  expect(prismaContract('postgresql', { schema: 'app', tableName: 'Locks', columnNames }))
    .toBe(`namespace app {
  /// A lock of ShedLock; times are UTC.
  model ShedLock {
    name      VarChar(64)        @id @map("jobName")
    lockUntil TimestampString(3) @map("until")
    lockedAt  TimestampString(3) @map("locked_at")
    lockedBy  VarChar(255)       @map("locked_by")

    @@map("Locks")
  }
}
`)
})

test('what Prisma 8 has not, and wrong options, are refused', () => {
  const refused = expect.objectContaining({ code: 'INVALID_CONFIGURATION' })
  expect(() => prismaContract('mysql')).toThrow(refused)
  expect(() => prismaContract('postgresql', { table: 'x' } as never)).toThrow(refused)
})
