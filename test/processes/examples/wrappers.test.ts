import { expect, test } from '@jest/globals'
import { afterTest } from '../../after-test'
import { eventually } from '../../eventually'
import { startApp } from './instance'
import { migratedDatabase } from './migrated-database'

const LONG = { timeout: 120_000 }
const LOCKS = ['nothing', 'nothing, above'].concat(
  ...['cls', 'transactional'].map((wrapper) =>
    ['between', 'above', 'below'].map((place) => `${wrapper}, ${place}`),
  ),
)

test.each([
  { agent: 'without Sentry', hasSentry: false, environment: {} },
  { agent: 'with Sentry', hasSentry: true, environment: { SENTRY: 'yes' } },
])('two Nest apps run each fire once, however wrapped, $agent', async ({ hasSentry, environment }) => {
  const all = { ...environment, ...(await migratedDatabase(afterTest)).environment }
  const instances = [1, 2].map(() => startApp('wrappers', ['wrapped'], all, afterTest))
  const ranOf = (lock: string): string[] => instances.flatMap((each) => each.said(`ran ${lock}`))
  await eventually(() => {
    for (const lock of LOCKS) {
      const fires = instances.map((each) => each.firesOf(lock))
      if (fires.some(({ length }) => length <= 4) || ranOf(lock).length === 0)
        throw new Error(fires.flat().join('\n'))
    }
  }, LONG)
  for (const { lines } of instances) {
    expect(lines).toContain(`sentry ${hasSentry}`)
    // No job counts as one without a lock.
    expect(lines.filter((line) => line.includes('without @'))).toEqual([])
  }
  for (const lock of LOCKS) {
    const ran = ranOf(lock)
    expect(ran).toEqual([...new Set(ran)])
    expect(ran.filter((slot) => !slot.endsWith('.000Z'))).toEqual([])
  }
})

test('a transaction commits before its lock is released, and delays the release in the wrong order', async () => {
  const { environment } = await migratedDatabase(afterTest)
  const instance = startApp('wrappers', ['invoices'], environment, afterTest)
  await eventually(() => expect(instance.lines).toContain('done'), LONG)
  for (const name of ['typeorm-transactional', 'Prisma in nestjs-cls']) {
    expect(instance.lines).toContain(`committed ${name} true`)
    expect(instance.said(`not released ${name}`)).toEqual([])
  }
  expect(instance.lines).toContain('committed typeorm-transactional/wrong false')
  expect(instance.said('not released typeorm-transactional/wrong')).toEqual([
    expect.stringContaining('a transaction with a guard of this lock is still open'),
  ])
  // A lock that was acquired with the client of a transaction is not part of it.
  expect(instance.lines).toContain('rolled back true')
})
