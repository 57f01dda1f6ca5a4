import { DataSource } from 'typeorm'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockProviderSuite } from 'shedlock-orm/testing'
import { availableBackends, type TestDatabase } from '../../test/backends'
import { register, registerOn } from '../../test/conformance/register'
import { createAppTables, sqlEnvironment, type SqlClient } from '../../test/conformance/sql-environment'
import { sqlLockProviderSuite } from '../../test/conformance/sql-lock-provider-suite'
import { ON_MYSQL, ON_POSTGRES, type OpenClient } from './clients'

const APPS = 4
const noSessions = 'what a session is set to is a matter of the driver'
const CLIENTS = { postgres: ON_POSTGRES, mariadb: ON_MYSQL, mysql: ON_MYSQL }

const cases = availableBackends().flatMap((backend) => {
  const clients = Object.entries(CLIENTS).find(([name]) => name === backend.name)?.[1] ?? {}
  return Object.entries(clients).map(([client, open]) => ({ client, backend, open }))
})

it('found a PostgreSQL and a MariaDB or MySQL', () => {
  expect(cases.map(({ client }) => client)).toEqual(
    expect.arrayContaining([...Object.keys(ON_POSTGRES), 'mysql2']),
  )
})

describe.each(cases)('$client on $backend.name', ({ backend, open }) => {
  let database: TestDatabase
  let observer: DataSource
  let apps: readonly OpenClient[]
  let turn = 0
  const next = (): OpenClient => {
    const app = apps[turn++ % APPS]
    if (!app) throw new Error('The apps are not open.')
    return app
  }

  const client: SqlClient = {
    reasons: { createProviderInTimeZone: noSessions },
    createProvider: (names) => Promise.resolve(next().createProvider(names)),
    beginTransaction: async (names) => {
      const app = next()
      const { query, end } = await app.begin()
      return {
        provider: app.createProvider(names),
        query,
        commit: async () => {
          await end('commit')
        },
        rollback: async () => {
          await end('rollback')
        },
      }
    },
  }
  const environment = sqlEnvironment(
    { query: (sql, parameters) => observer.query(sql, parameters) },
    backend.dialect,
    client,
  )

  beforeAll(async () => {
    database = await backend.create()
    observer = await new DataSource(database.typeOrm).initialize()
    await createAppTables(observer)
    await environment.createTable()
    apps = Array.from({ length: APPS }, () => open(database.url))
  })
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()))
    await observer.destroy()
    await database.drop()
  })

  describe('as any lock provider', () => {
    lockProviderSuite(environment).forEach(registerOn(backend.name))
  })
  describe('as a lock provider in SQL', () => {
    sqlLockProviderSuite(environment).forEach(register)
  })

  it('has its values bound, whatever quotes and backslashes mean', async () => {
    const provider = next().createProvider()
    for (const name of [`it's`, `\\' or 1=1 -- `.trim(), '?', '$1', ':name']) {
      const lock = await provider.lock({ name, lockAtMostFor: '1m' })
      expect(lock).toBeDefined()
      expect(await environment.isHeld(name)).toBe(true)
      await lock?.unlock()
    }
  })

  it('makes its table', async () => {
    const provider = next().createProvider({ tableName: 'made_by_it' })
    await provider.table.create()
    expect(await provider.table.check()).toEqual([])
  })
})
