import { createRequire } from 'node:module'
import { expect, it } from '@jest/globals'
import { connectionString } from '../../src/cli/drivers/mssql-driver'
import type { DialectName } from '../../src/sql/dialect'
import { availableBackends, describeBackends } from '../backends'
import { HOSTILE_LOCK_NAMES } from '../sql/quoting-modes'
import { failed, project, runCli } from './built-cli'
import { openCli } from './open-cli'

/** It has no types. */
const { ConnectionPool } = createRequire(__filename)('mssql') as {
  ConnectionPool: { parseConnectionString(text: string): object }
}

it.each([
  ['sqlserver://127.0.0.1:14;database=app;user=sa;password=Shed@1/2=3;encrypt=false', 'Shed@1/2=3', false],
  [
    'mssql://127.0.0.1:14;databaseName=app; userId = sa;password={Shed;Lock=1};encrypt=FALSE;',
    'Shed;Lock=1',
    false,
  ],
  ['sqlserver://127.0.0.1:14;Initial Catalog=app;UID=sa;pwd={x};trustServerCertificate=true', 'x', undefined],
])('%s is read as its maker meant it', (url, password, encrypt) => {
  expect(ConnectionPool.parseConnectionString(connectionString(url))).toMatchObject({
    ...{ server: '127.0.0.1', port: 14, database: 'app', user: 'sa', password },
    options: { ...(encrypt !== undefined && { encrypt }) },
  })
})

const backends = availableBackends().filter(({ shared, dialect }) => shared && dialect !== 'oracle')

/** Packages through which the command line reaches a database; an adapter of Prisma brings its driver along. */
const DRIVERS: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  postgres: ['pg', '@prisma/adapter-pg'],
  mysql: ['mysql2', 'mariadb', '@prisma/adapter-mariadb'],
  mariadb: ['mysql2', 'mariadb', '@prisma/adapter-mariadb'],
  sqlite: ['better-sqlite3', '@prisma/adapter-better-sqlite3'],
  mssql: ['mssql', '@prisma/adapter-mssql'],
}

describeBackends(backends)('the drivers of a project on $name', (backend) => {
  it.each(DRIVERS[backend.dialect] ?? [])('%s is all that a command needs', async (driver) => {
    const { env, provider } = await openCli(backend)
    const cwd = project({}, driver)
    const run = (...args: readonly string[]) => runCli(args, { cwd, env })
    expect((await run('doctor')).stdout).toContain('\n0 errors, ')
    const [name = '', ...others] = HOSTILE_LOCK_NAMES
    for (const each of HOSTILE_LOCK_NAMES) await provider.lock({ name: each, lockAtMostFor: '1h' })
    expect((await run('release', '--yes', '--', name)).status).toBe(0)
    const held = (await provider.table.list()).filter((lock) => lock.held)
    expect(held.map((lock) => lock.name).sort()).toEqual(others.toSorted())
  })

  it('a missing one is named', async () => {
    const { env } = await openCli(backend, {})
    const { status, stderr } = await runCli(['list'], { cwd: project({}), env })
    expect(status).toBe(3)
    expect(stderr).toMatch(
      /^shedlock-orm: There is no driver for this database in .* – install [@\w/-]+( or [@\w/-]+)*, or use .*\n$/,
    )
  })
})

const WITHOUT_TLS = ['ssl=false', 'ssl=0', 'sslmode=disable', 'ssl-mode=DISABLED', 'ssl-mode=PREFERRED']
const UNCHECKED = [
  'ssl={"rejectUnauthorized":false}',
  'sslmode=require',
  'ssl-mode=REQUIRED',
  'sslaccept=accept_invalid_certs',
]
const CHECKED = ['ssl=true', 'ssl', 'ssl={}', 'ssl-mode=VERIFY_CA', 'sslaccept=strict']

const REFUSED = /The connection .* failed: .* – check which TLS the server has/

describeBackends(availableBackends('mysql', 'mariadb'))('parameters of a URL for TLS on $name', (backend) => {
  /** Neither server has a certificate that a client trusts, and MariaDB has none at all. */
  it.each([
    ...WITHOUT_TLS.map((off) => [off, /, no TLS\n/] as const),
    ...UNCHECKED.map((on) => [on, backend.name === 'mysql' ? /, TLS, without a check/ : REFUSED] as const),
    ...CHECKED.map((on) => [on, REFUSED] as const),
  ])('%s', async (parameters, says) => {
    const { database } = await openCli(backend)
    const { stdout, stderr } = await runCli(['doctor', '--url', `${database.url}?${parameters}`])
    expect(stdout + stderr).toMatch(says)
  })
})

it('says that SQLite was not built, which pnpm may leave out', async () => {
  const thrown =
    "class { constructor() { throw Error('Could not locate the bindings file. Tried:\\n → build') } }"
  const cwd = project({ 'node_modules/better-sqlite3/index.js': `module.exports = ${thrown}`, 'a.db': '' })
  expect(await runCli(['list', '--url', 'file:a.db'], { cwd })).toEqual(
    failed(
      3,
      /^shedlock-orm: better-sqlite3 does not run: Could not locate the bindings file\. Tried: – let its build run .*\n$/,
    ),
  )
  // Its own folder is missing.
  const creating = ['exec', 'job', '--lock-at-most-for', '1m', '--create-table', '--', 'true']
  const here = { cwd: project({}, 'better-sqlite3'), env: { DATABASE_URL: 'file:none/a.db' } }
  expect(await runCli(creating, here)).toEqual(
    failed(3, 'failed: Cannot open database because the directory'),
  )
})
