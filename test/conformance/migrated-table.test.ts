import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataSource } from 'typeorm'
import { afterAll, describe, expect, it } from 'vitest'
import { dialects, migrationScripts } from '../../src/sql'
import { lockProviderSuite, type TableNames } from '../../src/testing'
import { availableBackends } from '../backends'
import { hasClient, runScript } from '../database-client'
import { hostileNames } from '../hostile-names'
import { createAppTables, sqlEnvironment } from './sql-environment'
import { typeOrmClient } from './typeorm-client'

const names: Readonly<Record<string, TableNames>> = { default: {}, hostile: hostileNames }

for (const backend of availableBackends().filter(hasClient)) {
  const dialect = dialects[backend.dialect]
  for (const [title, tableNames] of Object.entries(names)) {
    describe(`the table that its own client made on ${backend.name} with ${title} names`, async () => {
      const database = await backend.create()
      const script =
        title === 'default'
          ? readFileSync(join(__dirname, '../../migrations', dialect.name, 'up.sql'), 'utf8')
          : migrationScripts(dialect, tableNames).up
      const loaded = runScript(backend, database, script)
      const observer = await new DataSource(database.typeOrm).initialize()
      const client = await typeOrmClient(database.typeOrm, backend.dialect, observer, backend.shared)
      const environment = sqlEnvironment(observer, backend.dialect, client, tableNames)
      await createAppTables(observer)
      afterAll(async () => {
        await client.close()
        await observer.destroy()
        await database.drop()
      })

      it('was loaded', () => {
        expect(loaded).toMatchObject({ ok: true })
      })
      describe.concurrent('keeps locks', () => {
        for (const { title, skip, run } of lockProviderSuite(environment)) {
          it(title, { skip: skip !== undefined }, run)
        }
      })
    })
  }
}
