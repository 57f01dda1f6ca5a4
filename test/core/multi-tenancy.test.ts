import { DataSource } from 'typeorm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { TenantExecutors } from './tenant-executors'

const databases = new Map<string, DataSource>()
let executors: TenantExecutors

beforeEach(async () => {
  for (const tenant of ['a', 'b']) {
    const migrations = [createShedLockMigration()]
    const options = { type: 'better-sqlite3', database: ':memory:', migrationsRun: true, migrations } as const
    databases.set(tenant, await new DataSource(options).initialize())
  }
  executors = new TenantExecutors((tenant) => {
    const dataSource = databases.get(tenant)
    if (!dataSource) throw new Error(`There is no tenant '${tenant}'.`)
    return typeOrmLockProvider(dataSource)
  })
})

afterEach(async () => {
  for (const dataSource of databases.values()) await dataSource.destroy()
})

const rows = async (tenant: string) =>
  (await databases.get(tenant)?.query<{ name: string }[]>('select name from shedlock order by name'))?.map(
    ({ name }) => name,
  )

it('locks the same name once for each tenant, in the database of that tenant', async () => {
  const result = await executors.of('a').executeWithLock({ name: 'report' }, () =>
    executors.of('b').executeWithLock({ name: 'report' }, async () => ({
      a: await executors.of('a').executeWithLock({ name: 'bill' }, () => 'another lock'),
      rows: [await rows('a'), await rows('b')],
    })),
  )
  expect(result).toEqual({
    executed: true,
    value: {
      executed: true,
      value: { a: { executed: true, value: 'another lock' }, rows: [['bill', 'report'], ['report']] },
    },
  })
})

it('skips only for the tenant whose lock is held', async () => {
  const provider = databases.get('a')
  if (!provider) throw new Error('missing')
  await typeOrmLockProvider(provider).lock({ name: 'report', lockAtMostFor: '1m' })
  expect(await executors.of('a').executeWithLock({ name: 'report' }, () => 'ran')).toMatchObject({
    executed: false,
    reason: 'held',
  })
  expect(await executors.of('b').executeWithLock({ name: 'report' }, () => 'ran')).toMatchObject({
    executed: true,
  })
})

it('is shut down as a whole', async () => {
  expect(await executors.of('a').executeWithLock({ name: 'report' }, () => 'ran')).toMatchObject({
    executed: true,
  })
  await executors.shutdown()
  expect(await executors.of('a').executeWithLock({ name: 'report' }, () => 'ran')).toMatchObject({
    executed: false,
    reason: 'shutdown',
  })
})
