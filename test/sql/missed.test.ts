import { Cron } from 'croner'
import { CronJob } from 'cron'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { migrated, openMemory } from '../backends/open-database'
import { lockError } from '../lock-error'

const cron = new Cron('0 0 1 1 *', { timezone: 'UTC', paused: true })
const atMost = '366d'
const last = new Date(Date.UTC(new Date().getUTCFullYear(), 0, 1))
const before = new Date(Date.UTC(last.getUTCFullYear() - 1, 0, 1))

let provider: SqlLockProvider
beforeEach(async () => {
  provider = typeOrmLockProvider(await openMemory(migrated()))
})

async function ran(slot: Date | undefined, outcome: 'succeeded' | 'failed' = 'succeeded'): Promise<void> {
  const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m', slot })
  await lock?.unlock({ outcome })
}

it.each([
  ['croner', cron],
  ['cron', CronJob.from({ cronTime: '0 0 1 1 *', timeZone: 'UTC', onTick: () => undefined })],
  ['a time', last],
])('a due time is missed if the last run was before it: %s', async (_, due) => {
  await ran(before)
  expect(await provider.table.missed('job', { due, atMost })).toEqual(last)
  await ran(last)
  expect(await provider.table.missed('job', { due, atMost })).toBeUndefined()
})

it('its run is missed, too, if it failed, and while another one goes on, which may fail', async () => {
  await ran(last, 'failed')
  const missed = () => provider.table.missed('job', { due: cron, atMost })
  expect(await missed()).toEqual(last)
  await provider.lock({ name: 'job', lockAtMostFor: '1m', slot: last, untilSucceeded: true })
  expect(await missed()).toEqual(last)
})

it('nothing is missed by a job that nobody has run before, or that was due longer ago', async () => {
  const missed = () => provider.table.missed('job', { due: cron, atMost })
  expect(await missed()).toBeUndefined()
  // The row of a pause.
  await provider.table.pause('job', { duration: '1ms', reason: 'a test' })
  expect(await missed()).toBeUndefined()
  await ran(before)
  expect(await missed()).toEqual(last)
  expect(await provider.table.missed('job', { due: cron, atMost: '1ms' })).toBeUndefined()
})

it('nothing is missed by a job that was moved to another time since its last run', async () => {
  await ran(new Date(Number(before) + 3_600_000))
  expect(await provider.table.missed('job', { due: cron, atMost })).toBeUndefined()
  // Of a time, nobody knows what other times are due.
  expect(await provider.table.missed('job', { due: last, atMost })).toEqual(last)
})

it('a database that does not answer is asked again', async () => {
  await ran(before)
  const find = jest.spyOn(provider.table, 'find').mockRejectedValueOnce(new LockError('TIMEOUT', 'away'))
  expect(await provider.table.missed('job', { due: cron, atMost })).toEqual(last)
  find.mockRejectedValue(new LockError('DATABASE_ERROR', 'away'))
  const signal = AbortSignal.abort()
  await expect(provider.table.missed('job', { due: cron, atMost, signal })).rejects.toThrow('away')
})

it.each([{ atMost }, { due: last }])('a question with %j only is refused', async (options) => {
  await expect(provider.table.missed('job', options as never)).rejects.toEqual(
    lockError('INVALID_CONFIGURATION', "set 'due' to an expression or a time, and 'atMost'"),
  )
})
