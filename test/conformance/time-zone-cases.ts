import assert from 'node:assert/strict'
import { expectFree, expectHeld, expectRefused, newConfiguration } from '../../src/testing/expectations'
import { acquireLock, expectRow } from './sql-expectations'
import type { CasesThatNeed } from './sql-environment'

const ZONES = ['America/New_York', 'UTC', 'Asia/Tokyo']

/** 02:30 UTC on the last Sunday of March: as a local time, 02:30 does not exist in Prague on that day. */
function gapInSpring(year: number): number {
  const lastDay = new Date(Date.UTC(year, 2, 31, 2, 30))
  return lastDay.setUTCDate(31 - lastDay.getUTCDay())
}

export const timeZoneCases: CasesThatNeed = {
  needs: 'createProviderInTimeZone',
  cases: {
    'excludes sessions in other time zones while the lock is held, and no longer': async (environment) => {
      for (const holder of ZONES) {
        const provider = await environment.createProviderInTimeZone(holder)
        for (const zone of ZONES) {
          const other = await environment.createProviderInTimeZone(zone)
          const configuration = newConfiguration({ lockAtMostFor: '1m' })
          const lock = await acquireLock(provider, configuration)
          await expectRefused(other, configuration)
          await lock.extend('1m')
          await expectHeld(environment, configuration.name)
          await expectRefused(other, configuration)
          await lock.unlock()
          await expectFree(environment, configuration.name)
          await (await acquireLock(other, configuration)).unlock()
        }
      }
    },
    'writes the same time in every time zone': async (environment) => {
      for (const zone of ZONES) {
        const configuration = newConfiguration({ lockAtLeastFor: '1m' })
        const provider = await environment.createProviderInTimeZone(zone)
        const before = await environment.clock()
        await (await acquireLock(provider, configuration)).unlock()
        const row = await expectRow(environment, configuration.name)
        assert(row.lockedAt >= before && row.lockedAt <= (await environment.clock()), zone)
        const kept = row.lockUntil - row.lockedAt
        assert(kept >= 60_000 && kept < 2 * 60_000, `${zone}: ${kept}`)
      }
    },
    'lets a lock expire in the hour that a time zone skips in spring': async (environment) => {
      const provider = await environment.createProviderInTimeZone('Europe/Prague')
      const now = await environment.clock()
      const year = new Date(now).getUTCFullYear()
      const gap = gapInSpring(gapInSpring(year) > now ? year : year + 1)
      const configuration = newConfiguration({ lockAtMostFor: gap - now })
      await acquireLock(provider, configuration)
      const row = await expectRow(environment, configuration.name)
      assert(row.lockUntil >= gap && row.lockUntil <= gap + ((await environment.clock()) - now))
    },
  },
}
