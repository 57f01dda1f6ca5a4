import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { DataSource } from 'typeorm'
import type { TestDatabase } from '../../backends'
import { eventually } from '../../eventually'
import { canFakeTime, clockOf } from '../fake-time'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { many } from './programs'

const LONG = { timeout: 60_000 }

let database: TestDatabase
let observer: DataSource
let instances: Instance[] = []

beforeAll(async () => {
  database = await migratedDatabase()
  observer = await new DataSource(database.typeOrm).initialize()
})

afterAll(async () => {
  await observer.destroy()
  await database.drop()
})

beforeEach(() => observer.query('delete from shedlock'))
afterEach(async () => {
  await Promise.all(instances.map((instance) => instance.stop()))
  instances = []
})

function start(file: string, environment: NodeJS.ProcessEnv = {}): Instance {
  const instance = startApp('recipes', [file], { ...environment, DATABASE_URL: database.url })
  instances.push(instance)
  return instance
}

const lines = (): string[] => instances.flatMap((each) => each.lines)
const count = (beginning: string): number => lines().filter((line) => line.startsWith(beginning)).length

describe('Catch up a missed run', () => {
  const newYear = new Date(new Date().getFullYear(), 0, 1)
  const slots = (said: 'ran' | 'skipped'): string[] =>
    instances.flatMap((each) => each.said(`${said} report`))

  test.each(['croner', 'cron', 'node-cron', 'node-schedule', 'toad-scheduler', 'bree'])(
    '%s',
    async (scheduler) => {
      start(`catch-up-${scheduler}`)
      start(`catch-up-${scheduler}`)
      await eventually(() => expect([...slots('ran'), ...slots('skipped')]).toHaveLength(2), LONG)
      const [slot = ''] = slots('ran')
      expect(slots('ran')).toHaveLength(1)
      // Whatever the time zone of the machine is.
      expect(Math.abs(Date.parse(slot) - Number(newYear))).toBeLessThanOrEqual(86_400_000)

      // The run of a year before was the last one.
      await observer.query("update shedlock set locked_at = locked_at - interval '1 year'")
      start(`catch-up-${scheduler}`)
      await eventually(() => expect(slots('ran')).toEqual([slot, slot]), LONG)
    },
  )
})

test('At most three at once', async () => {
  for (let each = 0; each < 5; each++) start('at-most', { JOB_WAITS: '' })
  const [ran, refused] = ['ran report#', 'three others']
  await eventually(() => expect([count(ran), count(refused)]).toEqual([3, 2]), LONG)
  instances.find(({ lines }) => lines.some((line) => line.startsWith(ran)))?.endJob()
  await eventually(() => expect(count('sent')).toBe(1), LONG)
  start('at-most', { JOB_WAITS: '' })
  await eventually(() => expect([count(ran), count(refused)]).toEqual([4, 2]), LONG)
})

/** Each of these ran once for each slot, and both instances ran some. */
async function expectShared(names: readonly string[]): Promise<void> {
  await eventually(() => {
    for (const each of instances) for (const name of names) expect(each.firesOf(name)).not.toEqual([])
  }, LONG)
  const ran = instances.map((each) => each.lines.filter((line) => line.startsWith('ran ')))
  for (const each of ran) expect(each).not.toEqual([])
  expect(ran.flat()).toEqual([...new Set(ran.flat())])
}

test('Spread jobs over the instances', async () => {
  start('spread')
  // Without a wait at random this one would always come too late.
  start('spread', clockOf(canFakeTime ? '-0.1s' : undefined))
  await expectShared(many('job'))
})

test('One lock for each customer', async () => {
  start('customers')
  start('customers')
  await expectShared(many('customer').map((customer) => `bill-${customer}`))
})

test('Only the new version during a rollout', async () => {
  const [before, after] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  const ranIt = (instance: Instance): string[] => instance.said('ran report')
  const old = start('newest', { RELEASED_AT: before })
  await eventually(() => expect(ranIt(old)).not.toEqual([]), LONG)
  const replacement = start('newest', { RELEASED_AT: after })
  await eventually(() => expect(ranIt(replacement)).not.toEqual([]), LONG)
  const [first = ''] = ranIt(replacement)
  const restarted = start('newest', { RELEASED_AT: before })
  await eventually(() => expect(restarted.said('skipped release')).toHaveLength(1), LONG)
  const until = ranIt(replacement).length + 2
  await eventually(() => expect(ranIt(replacement).length).toBeGreaterThanOrEqual(until), LONG)
  expect([...ranIt(old), ...ranIt(restarted)].filter((slot) => slot > first)).toEqual([])
})
