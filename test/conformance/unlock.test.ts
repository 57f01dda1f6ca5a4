import { expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import { tableSql } from '../../src/sql/names'
import { lockStatements } from '../../src/sql/statements'
import { everyClient, openedClient } from './every-client'
import { describeBackends } from '../backends'

// Not about an ORM.
const clients = everyClient().filter(({ orm }) => orm === 'TypeORM')

describeBackends(clients)('an unlock by $title', (each) => {
  const client = openedClient(each)

  const dialect = dialects[each.dialect]
  const { release, releaseSlot, releaseUnused } = lockStatements(dialect, tableSql(dialect))
  const MINUTE = 60_000
  it.each([
    { lease: 'a current', left: 9 * MINUTE, keepFor: 0, unexpired: 9 * MINUTE, held: 0 },
    { lease: 'a current', left: 9 * MINUTE, keepFor: 5 * MINUTE, unexpired: 4 * MINUTE, held: 5 * MINUTE },
    { lease: 'a current', left: 9 * MINUTE, keepFor: 60 * MINUTE, unexpired: 0, held: 9 * MINUTE },
    { lease: 'an expired', left: -9 * MINUTE, keepFor: 0, unexpired: -9 * MINUTE, held: 0 },
    { lease: 'an expired', left: -9 * MINUTE, keepFor: 5 * MINUTE, unexpired: -9 * MINUTE, held: 0 },
  ])('that keeps $lease lease $keepFor ms leaves $held ms', async ({ left, keepFor, unexpired, held }) => {
    const forms = { release, releaseSlot, ...(keepFor === 0 && { releaseUnused }) }
    for (const [form, statement] of Object.entries(forms)) {
      const name = `${form} ${left} ${keepFor}`
      const now = await client.table.clock()
      const row = { name, lockUntil: now + left, lockedAt: now, lockedBy: 'me' }
      await client.table.insertRow(row)
      const values = { name, lockedBy: 'me', unlockedBy: 'me, before', keepFor, unexpired }
      expect(await client.executor.execute(statement, values)).toBe(1)
      const after = await client.table.clock()
      const { lockUntil = NaN, lockedAt, lockedBy } = (await client.table.findRow(name)) ?? {}
      const isWholeLease = held === left
      // Each clock is cut to milliseconds, and they do not run alike.
      expect(lockUntil).toBeGreaterThanOrEqual(now + held - 5)
      expect(lockUntil).toBeLessThanOrEqual(isWholeLease ? row.lockUntil : after + held + 5)
      expect(lockedAt).toBe(form === 'releaseUnused' ? now - 1 : now)
      expect(lockedBy).toBe('me, before')
      expect(await client.executor.execute(statement, values)).toBe(0)
    }
  })
})
