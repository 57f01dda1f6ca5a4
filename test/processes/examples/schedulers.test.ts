import { createRequire } from 'node:module'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type * as Croner from 'croner'
import type { TestDatabase } from '../../backends'
import { eventually } from '../../eventually'
import { canFakeTime, clockOf } from '../fake-time'
import { own } from './compile-programs'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { APPS } from './programs'

const root = join(__dirname, '../../..')
const page = readFileSync(join(root, 'docs/schedulers.md'), 'utf8')
const FIRES = 5

/**
 * Its row in the table: the scheduler's name and version, and the package that has it. How often it fires `before` the late instance
 * starts, and how many `fires` of that one must be run, where that is not as with the others.
 */
const SCHEDULERS = [
  { name: 'node-schedule', installed: 'node-schedule', lock: 'node-schedule' },
  { name: 'cron', installed: 'cron', lock: 'cron' },
  { name: 'croner', installed: 'croner-11', lock: 'croner' },
  { name: 'croner', installed: 'croner', lock: 'croner-10' },
  { name: 'node-cron', installed: 'node-cron', lock: 'node-cron' },
  { name: "node-cron's coordinator", installed: 'node-cron', lock: 'coordinator' },
  { name: "toad-scheduler's `CronJob`", installed: 'toad-scheduler', lock: 'toad-scheduler' },
  { name: 'Bree', installed: 'bree', lock: 'jobs/report', before: 1, fires: 2 },
  { name: '`@nestjs/schedule`, `@Cron`', installed: '@nestjs/schedule', lock: '@Cron' },
  { name: '`@nestjs/schedule`, dynamic jobs', installed: '@nestjs/schedule', lock: 'SchedulerRegistry' },
]

describe('the table of docs/schedulers.md', () => {
  test('has the schedulers that are tested, with their versions', () => {
    const versionOf = (installed: string): string => {
      const path = [own, join(root, 'node_modules')]
        .map((modules) => join(modules, installed, 'package.json'))
        .find((file) => existsSync(file))
      return (JSON.parse(readFileSync(path ?? '', 'utf8')) as { version: string }).version
    }
    const rows = [...page.matchAll(/^\| (.+?) +\| (\d+\.\d+\.\d+) +\|/gm)].map(([, name, version]) => [
      name,
      version,
    ])
    expect(rows).toEqual(SCHEDULERS.map(({ name, installed }) => [name, versionOf(installed)]))
  })
})

// In Europe/Berlin, with each version: `docs/schedulers.md`, "Daylight saving".
describe('daylight saving', () => {
  const due = (installed: string, expression: string, when: string, count: number): string[] => {
    const { Cron } = createRequire(__filename)(installed) as typeof Croner
    const cron = new Cron(expression, { timezone: 'Europe/Berlin', paused: true })
    return cron.nextRuns(count, new Date(when)).map((time) => time.toISOString().slice(11, 16))
  }
  const [of10, of11] = ['croner', join(own, 'croner-11')]

  test('in autumn only croner 11 runs a job in the hour that comes twice', () => {
    expect(due(of10, '0 * * * *', '2026-10-24T23:30:00Z', 2)).toEqual(['00:00', '02:00'])
    expect(due(of11, '0 * * * *', '2026-10-24T23:30:00Z', 2)).toEqual(['00:00', '01:00'])
  })

  test('in spring a job of the missing hour is due at 3:30 and 3:00', () => {
    expect(due(of10, '30 2 * * *', '2026-03-28T23:30:00Z', 1)).toEqual(['01:30'])
    expect(due(of11, '30 2 * * *', '2026-03-28T23:30:00Z', 1)).toEqual(['01:00'])
  })
})

describe(`two instances${canFakeTime ? ', one of which is five seconds behind,' : ''} run each fire once`, () => {
  let database: TestDatabase | undefined
  let ahead: Instance | undefined
  let behind: Instance | undefined

  beforeAll(async () => {
    database = await migratedDatabase()
    const environment = { DATABASE_URL: database.url }
    const files = [...APPS.schedulers.keys(), 'nestjs'].filter((file) => !file.startsWith('jobs/'))
    const first = (ahead = startApp('schedulers', files, environment))
    // For as long as the other will be behind: no slot of that one is then before the first one here.
    await eventually(
      () => {
        for (const { lock, before = FIRES + 1 } of SCHEDULERS)
          if (first.said(`ran ${lock}`).length < before) throw new Error(lock)
      },
      { timeout: 60_000 },
    )
    behind = startApp('schedulers', files, { ...environment, ...clockOf(canFakeTime ? '-5s' : undefined) })
  })

  afterAll(async () => {
    await Promise.all([ahead?.stop(), behind?.stop()])
    await database?.drop()
  })

  test.each(SCHEDULERS)('$name ($installed)', async ({ lock, fires = FIRES }) => {
    const ran = (): string[] => [ahead, behind].flatMap((each) => each?.said(`ran ${lock}`) ?? [])
    await eventually(
      () => {
        const late = [...(behind?.said(`ran ${lock}`) ?? []), ...(behind?.said(`skipped ${lock}`) ?? [])]
        const lost = late.filter((slot) => !ran().includes(slot))
        const run = late.length - lost.length
        // On a busy machine a timer may be late by a whole interval: then it fires for the next slot, and nobody ran the one before.
        if (run < fires || run <= lost.length)
          throw new Error(JSON.stringify({ lost, said: [ahead?.firesOf(lock), behind?.firesOf(lock)] }))
      },
      { timeout: 60_000 },
    )
    const runs = ran()
    expect(runs).toEqual([...new Set(runs)])
    expect(runs.filter((slot) => !slot.endsWith('.000Z'))).toEqual([])
  })
})
