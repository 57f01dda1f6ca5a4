import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { tableFaults } from '../sql/table-faults'
import { runCli, type RunOptions } from './built-cli'
import { itIf } from '../it-if'

interface Diagnosis {
  readonly check: string
  readonly severity: string
  readonly message: string
  readonly fix: readonly string[]
}

// What it finds on each database is in test/sql/table-inspection.test.ts.
const backends = availableBackends().filter(({ name }) => name === 'sqlite' || name === 'postgres')
const installed = (program: string): boolean => spawnSync(program, ['--version']).status === 0
/** The migration is known, but each test decides whether to run it. */
const WITH_MIGRATION = { migrations: [createShedLockMigration()] }
/** One fault of each severity. */
const FAULTS = ['no column locked_by', 'a name that ignores case']

describeBackends(backends)('shedlock-orm doctor on $name', (backend) => {
  /** A database whose migration each test may run. */
  const open = async () => {
    const { database, dataSource } = await openDatabase(backend, WITH_MIGRATION)
    const { url } = database
    const examine = async (options?: RunOptions) => {
      const { status, stdout, stderr } = await runCli(['doctor', '--json', '--url', url], options)
      expect(stderr).toBe('')
      const findings = JSON.parse(stdout) as Diagnosis[]
      return { status, bad: findings.filter(({ severity }) => /^(error|warning)$/.test(severity)) }
    }
    return { dataSource, url, examine }
  }

  it('finds nothing wrong after the migration', async () => {
    const { dataSource, url } = await open()
    await dataSource.runMigrations()
    const { status, stdout } = await runCli(['doctor', '--url', url])
    expect(stdout).toMatch(
      /^ok +place: table .*\nok +connection: by --url, through (pg, no TLS|better-sqlite3)\nok +table: /,
    )
    expect(stdout).toContain(`time zones: Node.js has the data ${process.versions['tz'] ?? ''}`)
    expect(stdout).toMatch(/\n0 errors, 0 warnings\n$/)
    expect(status).toBe(0)
  })

  it('finds locks that are held although no run needs them, by the rule of the page', async () => {
    const { dataSource, examine } = await open()
    await dataSource.runMigrations()
    const { pid } = spawnSync('true')
    const provider = typeOrmLockProvider(dataSource)
    await provider.lock({ name: 'gone', lockAtMostFor: '1h' })
    await dataSource.query(
      `update shedlock set locked_by = replace(locked_by, '/${process.pid}/', '/${pid}/')`,
    )
    await provider.lock({ name: 'runs', lockAtMostFor: '1h' })
    await provider.lock({ name: 'until', lockAtMostFor: '36500d' })
    const { bad, status } = await examine()
    expect(bad.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Lock 'gone' is stuck: its process is gone, .* left – release it/),
      expect.stringMatching(/^Lock 'until' is stuck: held until 2\d{3} – release it/),
    ])
    expect(status).toBe(0)
  })

  const itOnPostgres = itIf(backend.dialect === 'postgres', 'PostgreSQL, which CockroachDB resembles')
  itOnPostgres('notes that its dialect has never met a real server', async () => {
    const { dataSource, url } = await open()
    await dataSource.runMigrations()
    const { stdout } = await runCli(['doctor', '--url', url.replace('postgres:', 'cockroachdb:')])
    expect(stdout).toMatch(/\nnote +dialect: the tests have never run on a real cockroachdb server/)
    expect((await runCli(['doctor', '--url', url])).stdout).not.toContain('dialect:')
  })

  const faults = (tableFaults[backend.dialect] ?? []).filter(([fault]) => FAULTS.includes(fault))
  for (const [fault, found, make] of faults) {
    it(`finds, and says what to make: ${fault}`, async () => {
      const { dataSource, url, examine } = await open()
      for (const statement of make) await dataSource.query(statement)

      const { status, bad } = await examine()
      const [severity] = found.split(':')
      expect(bad).toMatchObject([
        { check: 'table', severity, message: expect.stringContaining(" not null'") },
      ])
      expect(status).toBe(severity === 'error' ? 1 : 0)
      expect((await runCli(['doctor', '--strict', '--url', url])).status).toBe(1)
    })
  }

  it('says that a dot in the name of a table names no schema', async () => {
    const { url } = await open()
    const java = await runCli(['doctor', '--url', url, '--table-name', 'app.shedlock'])
    expect(java.stdout).toContain("set schema to 'app' and tableName to 'shedlock'")
    expect(java.status).toBe(1)
  })

  itIf(installed('faketime'), 'faketime')('finds a clock that differs', async () => {
    const { dataSource, examine } = await open()
    await dataSource.runMigrations()
    const { status, bad } = await examine({
      under: ['faketime', '-f', '+90s'],
      env: { FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    })
    // SQLite's clock is this process's own.
    expect(bad).toMatchObject(backend.dialect === 'sqlite' ? [] : [{ check: 'clock', severity: 'warning' }])
    expect(status).toBe(0)
  })
})

describeBackends(backends.filter(({ dialect }) => dialect === 'postgres'))(
  'shedlock-orm doctor as a user of $name',
  (backend) => {
    const user = `shedlock_user_${randomBytes(4).toString('hex')}`
    let admin: DataSource
    let url: URL

    beforeEach(async () => {
      const { database, dataSource } = await openDatabase(backend, migrated())
      admin = dataSource
      await admin.query(`create role ${user} login password 'hunter2!'`)
      afterTest(async () => {
        await admin.query(`drop owned by ${user}`)
        await admin.query(`drop role ${user}`)
      })
      await admin.query(`grant select, insert, update on shedlock to ${user}`)
      url = new URL(database.url)
      url.username = user
      url.password = 'hunter2!'
    })

    const bad = async (address = url.href, flag = '--url'): Promise<Diagnosis[]> => {
      const { stdout, stderr } = await runCli(['doctor', '--json', flag, address])
      expect(stdout + stderr).not.toContain('hunter2')
      return (JSON.parse(stdout) as Diagnosis[]).filter(({ severity }) => severity !== 'ok')
    }

    it('finds a setting that is wrong for locks, and prints the SQL that fixes it', async () => {
      expect(await bad()).toEqual([])
      await admin.query(`alter role ${user} set synchronous_commit = off`)

      const findings = await bad()
      expect(findings).toMatchObject([{ check: 'synchronous commit', severity: 'warning' }])
      for (const statement of findings.flatMap(({ fix }) => fix)) await admin.query(statement)
      expect(await bad()).toEqual([])
    })
  },
)
