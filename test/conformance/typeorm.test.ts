import { DataSource } from 'typeorm'
import { afterAll, describe, it } from 'vitest'
import { lockProviderSuite, sqlLockProviderSuite, type SuiteCase } from '../../src/testing'
import { availableBackends, type Backend } from '../backends'
import { createAppTables, sqlEnvironment } from './sql-environment'
import { typeOrmClient } from './typeorm-client'

/** The ways in which apps connect to a backend, where there are several. */
function variantsOf(backend: Backend): Record<string, object> {
  if (backend.name === 'mariadb') return { '': {}, ' as type mysql': { type: 'mysql' } }
  if (backend.name === 'sqlite') return { ' with a rollback journal': {}, ' with WAL': { enableWAL: true } }
  return { '': {} }
}

function register({ title, skip, run }: SuiteCase): void {
  it(title, async (context) => {
    if (skip !== undefined) context.skip(skip)
    await run()
  })
}

for (const backend of availableBackends()) {
  for (const [variant, rest] of Object.entries(variantsOf(backend))) {
    describe(`TypeORM on ${backend.name}${variant}`, async () => {
      const database = await backend.create()
      const options = { ...database.typeOrm, ...rest }
      const observer = await new DataSource(options).initialize()
      const client = await typeOrmClient(options, backend.dialect, observer, backend.shared)
      const environment = sqlEnvironment(observer, backend.dialect, client)
      await createAppTables(observer)
      await environment.createTable()
      afterAll(async () => {
        await client.close()
        await observer.destroy()
        await database.drop()
      })

      describe.concurrent('as any lock provider', () => {
        lockProviderSuite(environment).forEach(register)
      })
      describe('as a lock provider in SQL', () => {
        sqlLockProviderSuite(environment).forEach(register)
      })
    })
  }
}
