import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { afterFile, afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { canFakeTime, clockOf } from '../fake-time'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { APPS, many } from './programs'

const LONG = { timeout: 180_000 }

let database: { DATABASE_URL: string }
let observer: DataSource

beforeAll(async () => {
  ;({ environment: database, observer } = await migratedDatabase(afterFile))
})
beforeEach(() => observer.query('delete from shedlock'))

const start = (file: string, environment: NodeJS.ProcessEnv = {}): Instance =>
  startApp('recipes', [file], { ...environment, ...database }, afterTest)

describe('Catch up a missed run', () => {
  // In Berlin, as the programs say.
  const newYear = new Date(Date.UTC(new Date().getFullYear(), 0, 1) - 3_600_000).toISOString()
  const aYearEarlier = "update shedlock set locked_at = locked_at - interval '1 year'"

  test.each([...APPS.recipes.keys()].filter((file) => file.startsWith('catch-up-')))('%s', async (file) => {
    const acquired = `timestamp '${newYear.slice(0, 19)}'`
    await observer.query(
      `insert into shedlock values ('report', ${acquired}, ${acquired}, 'the run of this year')`,
    )
    await observer.query(aYearEarlier)
    const instances = [1, 2].map(() => start(file))
    const ran = (): string[] => instances.flatMap((each) => each.said('ran report'))
    await eventually(() => expect(ran()).toEqual([newYear]), LONG)
    await observer.query(aYearEarlier)
    instances.push(start(file))
    await eventually(() => expect(ran()).toEqual([newYear, newYear]), LONG)
  })
})

test('At most three at once', async () => {
  const waiting = (): Instance => start('at-most', { JOB_WAITS: '' })
  const instances = Array.from({ length: 5 }, waiting)
  const linesWith = (beginning: string): string[] =>
    instances.flatMap(({ lines }) => lines.filter((line) => line.startsWith(beginning)))
  const [ran, refused] = ['ran report#', 'three others']
  await eventually(() => expect([ran, refused].map((line) => linesWith(line).length)).toEqual([3, 2]), LONG)
  instances.find(({ lines }) => lines.some((line) => line.startsWith(ran)))?.endJob()
  await eventually(() => expect(linesWith('sent')).toHaveLength(1), LONG)
  instances.push(waiting())
  await eventually(() => expect([ran, refused].map((line) => linesWith(line).length)).toEqual([4, 2]), LONG)
})

test.each([
  // Without a wait at random the one with the late clock would always come too late.
  { recipe: 'Spread jobs over the instances', file: 'spread', clock: '-0.1s', names: many('job') },
  {
    ...{ recipe: 'One lock for each customer', file: 'customers', clock: undefined },
    names: many('customer').map((customer) => `bill-${customer}`),
  },
])('$recipe', async ({ file, clock, names }) => {
  const instances = [start(file), start(file, clockOf(canFakeTime ? clock : undefined))]
  await eventually(() => {
    for (const each of instances) for (const name of names) expect(each.firesOf(name)).not.toEqual([])
  }, LONG)
  // Each runs once for each slot, and both instances run some, sooner or later.
  const runs = () => instances.map((each) => each.lines.filter((line) => line.startsWith('ran ')))
  await eventually(() => {
    for (const each of runs()) expect(each).not.toEqual([])
  }, LONG)
  const ran = runs()
  expect(ran.flat()).toEqual([...new Set(ran.flat())])
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
