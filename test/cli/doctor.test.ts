import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { itIf, itOn } from '../it-if'
import { tableFaults } from '../sql/table-faults'
import { runCli, type RunOptions } from './built-cli'
import { openCli } from './open-cli'

interface Diagnosis {
  readonly check: string
  readonly severity: string
  readonly message: string
  readonly fix: readonly string[]
}

// What it finds on each database is in test/sql/table-inspection.test.ts.
const backends = availableBackends('sqlite', 'postgres')
const installed = (program: string): boolean => spawnSync(program, ['--version']).status === 0
/** One fault of each severity. */
const FAULTS = ['no column locked_by', 'a name that ignores case']

describeBackends(backends)('shedlock-orm doctor on $name', (backend) => {
  /** A database with the lock table, and what the doctor finds there. */
  const open = async (options?: object) => {
    const { database, dataSource } = await openCli(backend, options)
    const { url } = database
    const examine = async (runOptions?: RunOptions, address = url) => {
      const args = ['doctor', '--json', '--url', address]
      const { status, stdout, stderr } = await runCli(args, runOptions)
      expect(stderr).toBe('')
      expect(stdout).not.toContain('hunter2')
      const findings = JSON.parse(stdout) as Diagnosis[]
      return { status, bad: findings.filter(({ severity }) => severity !== 'ok') }
    }
    return { dataSource, url, examine }
  }

  it('finds nothing wrong after the migration', async () => {
    const { url } = await open()
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
    const provider = typeOrmLockProvider(dataSource)
    const { pid } = spawnSync('true')
    await provider.lock({ name: "it's gone", lockAtMostFor: '1h' })
    await dataSource.query(
      `update shedlock set locked_by = replace(locked_by, '/${process.pid}/', '/${pid}/')`,
    )
    await provider.lock({ name: 'runs', lockAtMostFor: '1h' })
    await provider.lock({ name: 'until', lockAtMostFor: '36500d' })
    const { bad, status } = await examine()
    expect(bad.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Lock 'it's gone' is stuck: its process is gone, .* release 'it'\\''s gone'$/),
      expect.stringMatching(/^Lock 'until' is stuck: held until 2\d{3} – release it/),
    ])
    expect(status).toBe(0)
  })

  it('prints SQL below what it is for, indented', async () => {
    const { dataSource, url } = await open()
    await dataSource.query(`insert into shedlock values ('job', '9999-12-31', '9999-12-31', 'x')`)
    const sql = /^error {2}table: .*\n {9}update .*\n {11}set .*\n {11}where .*;$/m
    expect((await runCli(['doctor', '--url', url])).stdout).toMatch(sql)
  })

  const itOnPostgres = itOn(backend, 'postgres')
  itOnPostgres('notes that its dialect has never met a real server', async () => {
    const { url } = await open()
    const { stdout } = await runCli(['doctor', '--url', url.replace('postgres:', 'cockroachdb:')])
    expect(stdout).toMatch(/\nnote +dialect: the tests have never run on a real cockroachdb server/)
    expect((await runCli(['doctor', '--url', url])).stdout).not.toContain('dialect:')
  })

  const faults = (tableFaults[backend.dialect] ?? []).filter(([fault]) => FAULTS.includes(fault))
  for (const [fault, found, make] of faults) {
    it(`finds, and says what to make: ${fault}`, async () => {
      const { dataSource, url, examine } = await open({})
      for (const statement of make) await dataSource.query(statement)

      const { status, bad } = await examine()
      const [severity] = found.split(':')
      expect(bad).toMatchObject([
        { check: 'table', severity, message: expect.stringContaining(" not null'") },
      ])
      expect(status).toBe(severity === 'error' ? 1 : 0)
      const strict = await runCli(['doctor', '--strict', '--url', url])
      // The worst comes first.
      expect(strict.stdout).toMatch(
        /^ok +place: .*\n(error|warning) +table: [^]*\n\n(1 error, 0 warnings|0 errors, 1 warning)\n$/,
      )
      expect(strict.stdout).not.toContain('privileges are right')
      expect(strict.status).toBe(1)
    })
  }

  it('says that a dot in the name of a table names no schema', async () => {
    const { url } = await open({})
    const java = await runCli(['doctor', '--url', url, '--table-name', 'app.shedlock'])
    expect(java.stdout).toContain("set schema to 'app' and tableName to 'shedlock'")
    expect(java.status).toBe(1)
  })

  itIf(installed('faketime'), 'faketime')('finds a clock that differs, ahead or behind', async () => {
    const { examine } = await open()
    for (const by of ['+90s', '-90s']) {
      const { status, bad } = await examine({
        under: ['faketime', '-f', by],
        env: { FAKETIME_DONT_FAKE_MONOTONIC: '1' },
      })
      // SQLite's clock is this process's own.
      expect(bad).toMatchObject(backend.dialect === 'sqlite' ? [] : [{ check: 'clock', severity: 'warning' }])
      expect(status).toBe(0)
    }
  })

  itOnPostgres('finds a setting that is wrong for locks, and prints the SQL that fixes it', async () => {
    const { dataSource: admin, url, examine } = await open()
    const user = `shedlock_user_${randomBytes(4).toString('hex')}`
    await admin.query(`create role ${user} login password 'hunter2!'`)
    afterTest(async () => {
      await admin.query(`drop owned by ${user}`)
      await admin.query(`drop role ${user}`)
    })
    await admin.query(`grant select, insert, update on shedlock to ${user}`)
    const { href } = Object.assign(new URL(url), { username: user, password: 'hunter2!' })
    expect((await examine({}, href)).bad).toEqual([])
    await admin.query(`alter role ${user} set synchronous_commit = off`)

    const { bad } = await examine({}, href)
    expect(bad).toMatchObject([{ check: 'synchronous commit', severity: 'warning' }])
    for (const statement of bad.flatMap(({ fix }) => fix)) await admin.query(statement)
    expect((await examine({}, href)).bad).toEqual([])
  })
})
