import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from '@jest/globals'
import type { DialectName, SqlLockProvider } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterBlock } from '../after-test'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import type { SessionSettings } from '../conformance/session-settings'
import { HOSTILE_LOCK_NAMES, quotingModes } from '../sql/quoting-modes'
import { projectWith, runCli } from './built-cli'

const MYSQL = ['mysql2', 'mariadb']
const DRIVERS: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  postgres: ['pg'],
  mysql: MYSQL,
  mariadb: MYSQL,
  sqlite: ['better-sqlite3'],
}
const cases = availableBackends()
  .filter(({ shared }) => shared)
  .flatMap((backend) =>
    (DRIVERS[backend.dialect] ?? []).flatMap((driver) =>
      quotingModes(backend.dialect).map((mode) => ({
        backend,
        driver,
        mode,
        modeTitle: JSON.stringify(mode),
      })),
    ),
  )

/** A project with one driver, whose sessions have these settings. */
function projectOf(driver: string, mode: SessionSettings): { cwd: string; preload: string } {
  const cwd = projectWith(driver)
  const settings = Object.entries(mode).map(([name, value]) => `${name} = '${value}'`)
  const set = settings.length === 0 ? '' : `set session ${settings.join(', ')}`
  const preload = join(cwd, 'preload.cjs')
  writeFileSync(
    preload,
    `const set = ${JSON.stringify(set)}
const driver = require('${driver === 'mysql2' ? 'mysql2/promise' : driver}')
const { createConnection } = driver
if (set && createConnection) driver.createConnection = async (options) => {
  const connection = await createConnection(options)
  await connection.query(set)
  return connection
}`,
  )
  return { cwd, preload }
}

describeBackends(cases)(
  'the command line on $backend.name by $driver with $modeTitle',
  ({ backend, driver, mode }) => {
    const { cwd, preload } = projectOf(driver, mode)
    const after = afterBlock()
    let database: TestDatabase
    let provider: SqlLockProvider

    beforeAll(async () => {
      const opened = await openDatabase(backend, migrated(), after)
      database = opened.database
      provider = typeOrmLockProvider(opened.dataSource)
    })

    const run = async (command: string, ...args: string[]): Promise<string> => {
      const options = mode['standard_conforming_strings']
        ? { PGOPTIONS: '-c standard_conforming_strings=off' }
        : {}
      const env = { NODE_OPTIONS: `--require ${preload}`, ...options }
      const { stdout, stderr } = await runCli([command, '--url', database.url, ...args], { cwd, env })
      expect(stderr).toMatch(/^(shedlock-orm: table .*\n)?$/)
      return stdout
    }

    it('shows and releases locks whose names look like SQL, and no others', async () => {
      const names = HOSTILE_LOCK_NAMES
      for (const name of [...names, 'victim']) await provider.lock({ name, lockAtMostFor: '1h' })
      const [first = '', second = ''] = names
      expect(JSON.parse(await run('list', '--json', '--', first))).toMatchObject({ name: first, held: true })
      await run('release', '--yes', '--', first)
      await run('release', '--yes', '--', second)
      const left = (await provider.table.list()).filter(({ held }) => held)
      expect(left.map(({ name }) => name).sort()).toEqual([...names.slice(2), 'victim'].sort())
    })
  },
)
