import assert from 'node:assert/strict'
import {
  NO_ROW,
  NOT_EXTENDED,
  expectFree,
  expectHeld,
  expectRefused,
  newConfiguration,
  take,
  untilFree,
} from './expectations'
import type { SqlLockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const ZONES = ['America/New_York', 'UTC', 'Asia/Tokyo', 'Europe/Prague']

/** 02:30 on the last Sunday of March: as a local time of Prague it does not exist. */
function gapInSpring(year: number): number {
  const lastDay = new Date(Date.UTC(year, 2, 31, 2, 30))
  return lastDay.setUTCDate(31 - lastDay.getUTCDay())
}

export const timeZoneCases: readonly CaseDefinition<SqlLockProviderEnvironment>[] = [
  {
    title: 'excludes sessions in other time zones, and only while the lock is held',
    needs: ['createProviderInTimeZone'],
    run: async (environment) => {
      for (const holder of ZONES) {
        const provider = await environment.createProviderInTimeZone(holder)
        for (const zone of ZONES) {
          const other = await environment.createProviderInTimeZone(zone)
          const configuration = newConfiguration({ lockAtMostFor: '1m' })
          const lock = await take(provider, configuration)
          await expectRefused(other, configuration)
          const longer = await lock.extend('1m')
          assert(longer, NOT_EXTENDED)
          await expectHeld(environment, configuration.name)
          await expectRefused(other, configuration)
          await longer.unlock()
          await expectFree(environment, configuration.name)
          await (await take(other, configuration)).unlock()
        }
      }
    },
  },
  {
    title: 'ends a lease in another time zone when it is over',
    needs: ['createProviderInTimeZone'],
    run: async (environment) => {
      const configuration = newConfiguration({ lockAtMostFor: '2s' })
      await take(await environment.createProviderInTimeZone('Asia/Tokyo'), configuration)
      await untilFree(environment, configuration.name)
      await take(await environment.createProviderInTimeZone('America/New_York'), configuration)
    },
  },
  {
    title: 'writes the same time in every time zone',
    needs: ['createProviderInTimeZone'],
    run: async (environment) => {
      for (const zone of ZONES) {
        const configuration = newConfiguration({ lockAtLeastFor: '1m' })
        const provider = await environment.createProviderInTimeZone(zone)
        const before = await environment.clock()
        const lock = await take(provider, configuration)
        await lock.unlock()
        const row = await environment.findRow(configuration.name)
        assert(row, NO_ROW)
        assert(row.lockedAt >= before && row.lockedAt <= (await environment.clock()), zone)
        assert.equal(row.lockUntil - row.lockedAt, 60_000, zone)
      }
    },
  },
  {
    title: 'ends a lease in the hour that a time zone skips in spring',
    needs: ['createProviderInTimeZone'],
    run: async (environment) => {
      const provider = await environment.createProviderInTimeZone('Europe/Prague')
      const now = await environment.clock()
      const year = new Date(now).getUTCFullYear()
      const gap = gapInSpring(gapInSpring(year) > now ? year : year + 1)
      const configuration = newConfiguration({ lockAtMostFor: gap - now })
      await take(provider, configuration)
      const row = await environment.findRow(configuration.name)
      assert(row, NO_ROW)
      assert(row.lockUntil >= gap && row.lockUntil <= gap + ((await environment.clock()) - now))
    },
  },
  {
    title: 'takes and frees a lock in the hour that a time zone skips in spring',
    needs: ['createProviderAtTime'],
    run: async (environment) => {
      const gap = gapInSpring(2024)
      const provider = await environment.createProviderAtTime('Europe/Prague', gap)
      const configuration = newConfiguration({ lockAtMostFor: '1m', lockAtLeastFor: '30s' })
      const lock = await take(provider, configuration)
      assert.equal((await environment.findRow(configuration.name))?.lockedAt, gap)
      await expectRefused(provider, configuration)
      const longer = await lock.extend('1h')
      assert(longer, NOT_EXTENDED)
      assert.equal((await environment.findRow(configuration.name))?.lockUntil, gap + 3_600_000)
      await longer.unlock()
      assert.equal((await environment.findRow(configuration.name))?.lockUntil, gap + 30_000)
    },
  },
]
