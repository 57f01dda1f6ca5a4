import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DataSource } from 'typeorm'
import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { buildCli, runCli, type Finished } from './built-cli'
import { itIf } from '../it-if'
import { eventually } from '../eventually'

const root = join(__dirname, '..', '..')
const backends = availableBackends().filter(({ shared }) => shared)
const LOCK = ['exec', 'job', '--lock-at-most-for', '10m']
/** How a server ends the other connections of a database. */
const KILL: Readonly<Record<string, { find: string; kill: string }>> = {
  postgres: {
    find: "select pid as id from pg_stat_activity where datname = current_database() and application_name = 'shedlock'",
    kill: 'select pg_terminate_backend',
  },
  mariadb: {
    find: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
    kill: 'kill ',
  },
  mysql: {
    find: 'select id from performance_schema.processlist where db = database() and id <> connection_id()',
    kill: 'kill ',
  },
}
const canMakeNamespaces = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0
let cli: string

/** An app that has installed the command line: npm makes a link to it in node_modules/.bin. */
function installed(file: string): string {
  const app = mkdtempSync(join(tmpdir(), 'shedlock-app-'))
  mkdirSync(join(app, 'node_modules/.bin'), { recursive: true })
  chmodSync(file, 0o755)
  symlinkSync(file, join(app, 'node_modules/.bin/shedlock-orm'))
  for (const driver of ['pg', 'mysql2', 'better-sqlite3'])
    symlinkSync(join(root, 'node_modules', driver), join(app, 'node_modules', driver))
  return app
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
}

beforeAll(() => {
  cli = buildCli()
})

describeBackends(backends)('shedlock-orm exec on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    database = await backend.create()
    const migrations = [createShedLockMigration()]
    dataSource = await new DataSource({ ...database.typeOrm, migrations }).initialize()
    await dataSource.runMigrations()
    provider = typeOrmLockProvider(dataSource)
  })

  afterEach(async () => {
    await dataSource.destroy()
    await database.drop()
  })

  const node = (script: string): string[] => ['--', process.execPath, '-e', script]
  const exec = (...args: string[]): Promise<Finished> =>
    runCli(cli, args, { env: { DATABASE_URL: database.url } })
  const held = async (): Promise<boolean> => (await provider.listLocks()).some((lock) => lock.held)

  it('runs the command under the lock, frees it, and has its exit code', async () => {
    const script = 'console.log(process.argv.slice(1).join()); process.exitCode = 42'
    expect(await exec(...LOCK, ...node(script), '--', '-x', 'y z')).toEqual({
      status: 42,
      stdout: '-x,y z\n',
      stderr: '',
    })
    expect(await held()).toBe(false)
    const sql = await exec(...LOCK, '--lock-at-least-for', '5m', ...node(''))
    expect(sql.status).toBe(0)
    expect(await held()).toBe(true)
  })

  it('skips the command when somebody else holds the lock', async () => {
    await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    const { status, stdout, stderr } = await exec(...LOCK, ...node('console.log(1)'))
    expect({ status, stdout }).toEqual({ status: 75, stdout: '' })
    expect(stderr).toMatch(/Lock 'job' is held by \S+ until \S+ .* was skipped/)
    expect((await exec(...LOCK, '--skipped-exit-code', '0', ...node(''))).status).toBe(0)
  })

  it('passes signals on, and frees the lock after the command has ended', async () => {
    const script =
      "process.on('SIGTERM', () => process.exit(7)); setInterval(() => 0, 1e6); console.log('up')"
    const child = spawn(process.execPath, [cli, ...LOCK, '--url', database.url, ...node(script)], {
      cwd: root,
    })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    await new Promise((resolve) => child.stdout.once('data', resolve))
    expect(await held()).toBe(true)
    child.kill('SIGTERM')
    expect(await ended).toBe(7)
    expect(await held()).toBe(false)
  })

  itIf(canMakeNamespaces, 'Linux, and leave to make a namespace')(
    'as the first process of a container: SIGTERM gets to the command, and the lock is freed',
    async () => {
      const script =
        "process.on('SIGTERM', () => process.exit(7)); setInterval(() => 0, 1e6); console.log(process.ppid)"
      const app = installed(cli)
      const command = ['node_modules/.bin/shedlock-orm', ...LOCK, ...node(script)]
      const namespace = spawn('unshare', ['--pid', '--fork', '--kill-child', ...command], {
        cwd: app,
        env: { ...process.env, DATABASE_URL: database.url },
      })
      const ended = new Promise((resolve) => namespace.on('exit', resolve))
      const [parent] = (await once(namespace.stdout, 'data')) as [Buffer]
      expect(parent.toString()).toBe('1\n')
      expect(await held()).toBe(true)
      // What `docker stop` does: a signal to the first process, from outside.
      process.kill(childOf(namespace.pid ?? 0), 'SIGTERM')
      expect(await ended).toBe(7)
      expect(await held()).toBe(false)
    },
  )

  it('does not begin, and stops what runs, when the lock is over that early', async () => {
    const forever = node('setInterval(() => 0, 1e6)')
    const runs = Array.from({ length: 8 }, (_, index) =>
      exec('exec', `job-${index}`, '--lock-at-most-for', `${20 + 10 * index}ms`, ...forever),
    )
    // 3: the database took longer than the lock lasts.
    for (const { status } of await Promise.all(runs)) expect([76, 3]).toContain(status)
  })

  it('has the exit code of a shell for a command that a signal ended, or that is not there', async () => {
    expect((await exec(...LOCK, ...node("process.kill(process.pid, 'SIGKILL')"))).status).toBe(137)
    const { status, stderr } = await exec(...LOCK, '--', '/no/such/command')
    expect(status).toBe(127)
    expect(stderr).toContain('/no/such/command cannot be run')
    expect(await held()).toBe(false)
  })

  itIf(backend.dialect in KILL, 'a server')(
    'frees the lock though the connection broke in the meantime',
    async () => {
      const script = "process.stdin.on('data', () => process.exit(0)); console.log('up')"
      const child = spawn(process.execPath, [cli, ...LOCK, '--url', database.url, ...node(script)], {
        cwd: root,
      })
      const ended = new Promise((resolve) => child.on('exit', resolve))
      await new Promise((resolve) => child.stdout.once('data', resolve))
      const connections: { id: number }[] = await dataSource.query(KILL[backend.dialect]?.find ?? '')
      expect(connections).toHaveLength(1)
      for (const { id } of connections) await dataSource.query(`${KILL[backend.dialect]?.kill}(${id})`)
      child.stdin.end('stop')
      expect(await ended).toBe(0)
      expect(await held()).toBe(false)
    },
  )

  it('stops the command when the lock is lost', async () => {
    const forever = node('setInterval(() => 0, 1e6)')
    const { status, stderr } = await exec('exec', 'job', '--lock-at-most-for', '2s', ...forever)
    expect(status).toBe(76)
    expect(stderr).toContain('The command is stopped')
  })

  it('keeps the lock while the command runs, with --keep-alive', async () => {
    const script = "process.stdin.on('data', () => process.exit(0))"
    const options = ['--lock-at-most-for', '6s', '--keep-alive', '--url', database.url]
    const child = spawn(process.execPath, [cli, 'exec', 'job', ...options, ...node(script)], { cwd: root })
    const errors: Buffer[] = []
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
    const ended = new Promise((resolve) => child.on('close', resolve))
    // Extended a second time, when the first lease was over or nearly so.
    await eventually(async () => {
      const [lock] = await provider.listLocks()
      const length = lock ? lock.lockUntil.getTime() - lock.lockedAt.getTime() : 0
      expect(length).toBeGreaterThan(10_000)
    })
    expect(await held()).toBe(true)
    child.stdin.end('stop')
    expect({ status: await ended, stderr: Buffer.concat(errors).toString() }).toEqual({
      status: 0,
      stderr: '',
    })
  })
})

it.each([
  [['exec', 'job', '--', 'true'], '--lock-at-most-for'],
  [['exec', 'job', '--lock-at-most-for', '10m'], 'command'],
  [[...LOCK, '--skipped-exit-code', '256', '--', 'true'], '0 to 255'],
  [['exec', 'job', '--lock-at-most-for', '10', '--', 'true'], 'no unit – write 10s or 10m'],
  [[...LOCK, '--lock-at-least-for', '0.5', '--', 'true'], 'no unit'],
  [['exec', 'job', '--lock-at-most-for', 'soon', '--url', 'file:x.sqlite', '--', 'true'], "'soon'"],
] as const)('%j is refused', async (args, message) => {
  const { status, stderr } = await runCli(cli, args)
  expect(status).toBe(2)
  expect(stderr).toContain(message)
})
