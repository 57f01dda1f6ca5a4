import { expect, it } from '@jest/globals'
import { migrationFiles } from '../../scripts/migration-files'
import { type DialectName, dialects, type LockTableOptions, migrationScripts } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { useDatabase } from '../backends/open-database'
import { hasClient, runScript } from '../backends/database-client'
import { filesUnder } from '../files-under'
import { allowedNames, hostileNames } from './hostile-names'

const job = { name: 'job', lockAtMostFor: '1m' }

it('the files under migrations are what npm run generate writes', () => {
  expect(filesUnder('migrations')).toEqual(migrationFiles())
})

const names: Record<string, (dialect: DialectName) => LockTableOptions> = {
  'default names': () => ({}),
  'hostile names': (dialect) => allowedNames(dialect, hostileNames),
}

describeBackends(availableBackends().filter(hasClient))('the migration of $name by its client', (backend) => {
  const dialect = dialects[backend.dialect]
  const opened = useDatabase(backend)

  it.each(Object.entries(names))('creates a table that works, and removes it: %s', async (_, namesOf) => {
    const options = namesOf(backend.dialect)
    const { up, down } = migrationScripts(dialect, options)

    expect(await runScript(backend, opened.database, up)).toMatchObject({ ok: true })
    const provider = typeOrmLockProvider(opened.dataSource, options)
    expect(await provider.table.check()).toEqual([])
    const lock = await provider.lock(job)
    expect(lock).toBeDefined()
    expect(await provider.lock({ name: 'Job', lockAtMostFor: '1m' })).toBeDefined()
    // It may run again, and leaves the locks alone.
    expect(await runScript(backend, opened.database, up)).toMatchObject({ ok: true })
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.unlock()

    expect(await runScript(backend, opened.database, down)).toMatchObject({ ok: true })
    await expect(provider.lock(job)).rejects.toMatchObject({
      code: 'TABLE_MISSING',
      cause: expect.anything(),
    })
  })

  it('fails when there is another table of that name', async () => {
    await opened.dataSource.query('create table shedlock (name varchar(64) primary key, holder int)')

    const { ok, stderr } = await runScript(backend, opened.database, migrationScripts(dialect).up)
    expect(ok).toBe(false)
    expect(stderr).toMatch(/lock_until/)
  })
})
