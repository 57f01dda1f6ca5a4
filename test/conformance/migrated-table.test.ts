import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dialects, migrationScripts } from '../../src/sql'
import { lockProviderSuite, type TableNames } from '../../src/testing'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { hasClient, runScript } from '../backends/database-client'
import { hostileNames } from '../sql/hostile-names'
import { registerConcurrently } from './register'
import { createAppTables, sqlEnvironment } from './sql-environment'
import { typeOrmClient } from './typeorm-client'

const names: Readonly<Record<string, TableNames>> = { default: {}, hostile: hostileNames }
const cases = availableBackends()
  .filter(hasClient)
  .flatMap((backend) => Object.entries(names).map(([title, tableNames]) => ({ backend, title, tableNames })))

describeBackends(cases)(
  'the table that its own client made on $backend.name with $title names',
  ({ backend, title, tableNames }) => {
    const dialect = dialects[backend.dialect]
    let database: TestDatabase
    let observer: DataSource
    let loaded: ReturnType<typeof runScript>
    const client = typeOrmClient(backend, () => observer)
    const environment = sqlEnvironment(
      { query: (...sql) => observer.query(...sql) },
      backend.dialect,
      client,
      tableNames,
    )

    beforeAll(async () => {
      database = await backend.create()
      const script =
        title === 'default'
          ? readFileSync(join(__dirname, '../../migrations', dialect.name, 'up.sql'), 'utf8')
          : migrationScripts(dialect, tableNames).up
      loaded = runScript(backend, database, script)
      observer = await new DataSource(database.typeOrm).initialize()
      await createAppTables(observer)
    })
    afterAll(async () => {
      await client.close()
      await observer.destroy()
      await database.drop()
    })

    it('was loaded', () => {
      expect(loaded).toMatchObject({ ok: true })
    })
    describe('keeps locks', () => {
      lockProviderSuite(environment).forEach(registerConcurrently)
    })
  },
)
