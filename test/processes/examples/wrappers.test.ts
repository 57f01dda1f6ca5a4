import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TestDatabase } from '../../backends'
import { eventually } from '../../eventually'
import { startApp, type Instance } from './instance'
import { migratedDatabase } from './migrated-database'

const LONG = { timeout: 120_000 }
const LOCKS = ['nothing', 'nothing, above'].concat(
  ...['cls', 'transactional'].map((wrapper) =>
    ['between', 'above', 'below'].map((place) => `${wrapper}, ${place}`),
  ),
)

describe.each([
  { agent: 'without Sentry', environment: {} },
  { agent: 'with Sentry', environment: { SENTRY: 'yes' } },
])('two instances of a Nest application, $agent', ({ agent, environment }) => {
  let database: TestDatabase
  let instances: Instance[] = []

  beforeAll(async () => {
    database = await migratedDatabase()
    const all = { ...environment, DATABASE_URL: database.url }
    instances = [startApp('wrappers', ['wrapped'], all), startApp('wrappers', ['wrapped'], all)]
  })
  afterAll(async () => {
    await Promise.all(instances.map((instance) => instance.stop()))
    await database.drop()
  })

  test('are wrapped as the title says', async () => {
    await eventually(() => {
      for (const { lines } of instances) expect(lines).toContain(`sentry ${agent === 'with Sentry'}`)
    }, LONG)
  })

  test.each(LOCKS)('run each fire once: %s', async (lock) => {
    await eventually(() => {
      for (const instance of instances) expect(instance.firesOf(lock).length).toBeGreaterThan(4)
    }, LONG)
    const ran = instances.flatMap((instance) => instance.said(`ran ${lock}`))
    expect(ran).not.toEqual([])
    expect(ran).toEqual([...new Set(ran)])
    expect(ran.filter((slot) => !slot.endsWith('.000Z'))).toEqual([])
  })

  test('have no job that counts as unlocked', () => {
    expect(instances.flatMap(({ lines }) => lines.filter((line) => line.includes('without @')))).toEqual([])
  })
})

describe('work in a transaction', () => {
  let database: TestDatabase
  let instance: Instance

  beforeAll(async () => {
    database = await migratedDatabase()
    instance = startApp('wrappers', ['invoices'], { DATABASE_URL: database.url })
    await eventually(() => expect(instance.lines).toContain('done'), LONG)
  })
  afterAll(async () => {
    await instance.stop()
    await database.drop()
  })

  test.each(['typeorm-transactional', 'Prisma in nestjs-cls'])(
    'is committed before the lock is released: %s',
    (name) => {
      expect(instance.lines).toContain(`committed ${name} true`)
      expect(instance.lines.filter((line) => line.startsWith(`not released ${name} `))).toEqual([])
    },
  )

  test.each(['typeorm-transactional, wrong', 'Prisma in nestjs-cls, wrong'])(
    'delays a release that names it, in the wrong order: %s',
    (name) => {
      expect(instance.lines).toContain(`committed ${name} false`)
      expect(instance.lines).toContainEqual(
        expect.stringMatching(
          `^not released ${name} .*a transaction with a guard of this lock is still open`,
        ),
      )
    },
  )

  test('does not contain a lock that was acquired with its client: Prisma in nestjs-cls', () => {
    expect(instance.lines).toContain('rolled back true')
  })
})
