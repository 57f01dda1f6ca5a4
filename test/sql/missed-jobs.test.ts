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

const missed = (more: object = {}) => provider.table.missed('job', { due: cron, atMost, ...more })

it.each([
  ['croner', cron],
  ['cron', CronJob.from({ cronTime: '0 0 1 1 *', timeZone: 'UTC', onTick: () => undefined })],
  ['a time', last],
])('a due time is missed if the last run was before it: %s', async (_, due) => {
  await ran(before)
  expect(await missed({ due })).toEqual(last)
  await ran(last)
  expect(await missed({ due })).toBeUndefined()
})

it('its run is missed, too, if it failed, and while another one goes on, which may fail', async () => {
  await ran(last, 'failed')
  expect(await missed()).toEqual(last)
  await provider.lock({ name: 'job', lockAtMostFor: '1m', slot: last, untilSucceeded: true })
  expect(await missed()).toEqual(last)
})

it('nothing is missed by a job that nobody has run before, or that was due longer ago', async () => {
  expect(await missed()).toBeUndefined()
  await provider.table.pause('job', { duration: '1ms', reason: 'a test' })
  expect(await missed()).toBeUndefined()
  await ran(before)
  expect(await missed()).toEqual(last)
  const find = jest.spyOn(provider.table, 'find')
  expect(await missed({ atMost: '1ms' })).toBeUndefined()
  expect(find).not.toHaveBeenCalled()
})

it('nothing is missed by a job that was moved to another time since its last run', async () => {
  await ran(new Date(Number(before) + 3_600_000))
  expect(await missed()).toBeUndefined()
  // Of a time, nobody knows what other times are due.
  expect(await missed({ due: last })).toEqual(last)
})

it('a database that does not answer is asked again', async () => {
  await ran(before)
  const find = jest.spyOn(provider.table, 'find').mockRejectedValueOnce(new LockError('TIMEOUT', 'away'))
  expect(await missed()).toEqual(last)
  find.mockRejectedValue(new LockError('DATABASE_ERROR', 'away'))
  await expect(missed({ signal: AbortSignal.abort() })).rejects.toThrow('away')
})

it.each(['due', 'atMost'])('a question without %s is refused', async (option) => {
  const refused = lockError('INVALID_CONFIGURATION', "set 'due' to an expression or a time, and 'atMost'")
  await expect(missed({ [option]: undefined })).rejects.toEqual(refused)
})
