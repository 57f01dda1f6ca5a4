import { beforeAll, describe, expect, test } from '@jest/globals'
import type { SchedulerName } from '../../../src/cli/init/usage'
import { afterFile, afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { canFakeTime, clockOf } from '../fake-time'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'
import { APPS } from './programs'

const FIRES = 5
const LONG = { timeout: 180_000 }

/** One way to use a scheduler. */
interface Use {
  /** Its row in the table, if it is not called like the package. */
  readonly name?: string
  /** If it is not the package of this name. */
  readonly installed?: string
  readonly lock: string
  /** How often it fires before the late instance starts, where that is not as with the others. */
  readonly before?: number
  /** How many fires of the late instance must be run. */
  readonly fires?: number
}

const USES: Readonly<Record<SchedulerName, readonly Use[]>> = {
  'node-schedule': [{ lock: 'node-schedule' }],
  cron: [{ lock: 'cron' }],
  croner: [{ installed: 'croner-11', lock: 'croner' }, { lock: 'croner-10' }],
  'node-cron': [{ lock: 'node-cron' }, { name: "node-cron's coordinator", lock: 'coordinator' }],
  'toad-scheduler': [{ name: "toad-scheduler's `CronJob`", lock: 'toad-scheduler' }],
  bree: [{ name: 'Bree', lock: 'jobs/report', before: 1, fires: 2 }],
  '@nestjs/schedule': [
    { name: '`@nestjs/schedule`, `@Cron`', lock: '@Cron' },
    { name: '`@nestjs/schedule`, dynamic jobs', lock: 'SchedulerRegistry' },
  ],
}
const SCHEDULERS = Object.entries(USES).flatMap(([name, uses]) =>
  uses.map((use) => ({ name, installed: name, ...use })),
)

describe(`two instances${canFakeTime ? ', one of which is five seconds behind,' : ''} run each fire once`, () => {
  const instances: Instance[] = []
  const said = (beginning: string): string[] => instances.flatMap((each) => each.said(beginning))

  beforeAll(async () => {
    const { environment } = await migratedDatabase(afterFile)
    const files = [...APPS.schedulers.keys(), 'nestjs'].filter((file) => !file.startsWith('jobs/'))
    instances.push(startApp('schedulers', files, environment, afterFile))
    // For as long as the other will be behind: no slot of that one is then before the first one here.
    await eventually(() => {
      for (const { lock, before = FIRES + 1 } of SCHEDULERS)
        if (said(`ran ${lock}`).length < before) throw new Error(lock)
    }, LONG)
    const late = { ...environment, ...clockOf(canFakeTime ? '-5s' : undefined) }
    instances.push(startApp('schedulers', files, late, afterFile))
  })

  test.each(SCHEDULERS)('$name ($installed)', async ({ lock, fires = FIRES }) => {
    await eventually(() => {
      const late = ['ran', 'skipped'].flatMap((what) => instances[1]?.said(`${what} ${lock}`) ?? [])
      const ran = said(`ran ${lock}`)
      const lost = late.filter((slot) => !ran.includes(slot))
      const run = late.length - lost.length
      // On a busy machine a timer may be late by a whole interval: then it fires for the next slot, and nobody ran the one before.
      if (run < fires || run <= lost.length)
        throw new Error(JSON.stringify({ lost, said: instances.map((each) => each.firesOf(lock)) }))
    }, LONG)
    const runs = said(`ran ${lock}`)
    expect(runs).toEqual([...new Set(runs)])
    expect(runs.filter((slot) => !slot.endsWith('.000Z'))).toEqual([])
  })
})

test('Bree stops a run that does not end, and its lock is released', async () => {
  const { environment, observer } = await migratedDatabase(afterTest)
  const instance = startApp('schedulers', ['bree'], { ...environment, JOB_TAKES: '600000' }, afterTest)
  await eventually(() => expect(instance.said('ran jobs/report')).toHaveLength(1), LONG)
  await instance.stop('SIGTERM')
  const [row] = await observer.query<object[]>(
    "select locked_by, lock_until <= now() at time zone 'utc' as free from shedlock",
  )
  expect(row).toEqual({ locked_by: expect.stringMatching(/ failed/), free: true })
})
