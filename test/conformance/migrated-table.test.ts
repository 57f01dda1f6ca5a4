import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataSource } from 'typeorm'
import { expect } from '@jest/globals'
import { dialects, migrationScripts } from '../../src/sql'
import type { TableNames } from '../../src/testing'
import { typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, testBackends } from '../backends'
import { hasClient, runScript } from '../backends/database-client'
import { hostileNames } from '../sql/hostile-names'

const names: Readonly<Record<string, TableNames>> = { default: {}, hostile: hostileNames }
const cases = availableBackends()
  .filter(hasClient)
  .flatMap((backend) => Object.entries(names).map(([title, tableNames]) => ({ backend, title, tableNames })))

// Its columns are those of the table that the suites run on: that is what checkTable() reads.
testBackends(cases)(
  'the table that its own client made on $backend.name with $title names has no finding, and keeps locks',
  async ({ backend, title, tableNames }) => {
    const dialect = dialects[backend.dialect]
    const database = await backend.create()
    const script =
      title === 'default'
        ? readFileSync(join(__dirname, '../../migrations', dialect.name, 'up.sql'), 'utf8')
        : migrationScripts(dialect, tableNames).up
    expect(runScript(backend, database, script)).toMatchObject({ ok: true })
    const dataSource = await new DataSource(database.typeOrm).initialize()
    try {
      const provider = typeOrmLockProvider(dataSource, tableNames)
      expect(await provider.checkTable()).toEqual([])
      const lock = await provider.lock({ name: 'job', lockAtMostFor: '1h' })
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeUndefined()
      expect(await provider.lock({ name: 'Job', lockAtMostFor: '1h' })).toBeDefined()
      await lock?.unlock()
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeDefined()
    } finally {
      await dataSource.destroy()
      await database.drop()
    }
  },
)
