import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { TcpProxy } from '../backends/tcp-proxy'
import { runCli, startCli, type Finished, type Started } from './built-cli'
import { itIf } from '../it-if'
import { eventually } from '../eventually'

const backends = availableBackends().filter(({ shared, dialect }) => shared && dialect !== 'oracle')
const LOCK = ['exec', 'job', '--lock-at-most-for', '10m']
/** Finds the other connections of a database, on a server. */
const OTHER_CONNECTIONS: Readonly<Record<string, string>> = {
  postgres:
    "select pid as id from pg_stat_activity where datname = current_database() and application_name = 'shedlock'",
  mariadb: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
  mssql:
    'select session_id as id from sys.dm_exec_sessions where database_id = db_id() and session_id <> @@spid',
  mysql: 'select id from performance_schema.processlist where db = database() and id <> connection_id()',
}
/** A command that ends when something is written to it. */
const UNTIL_STOPPED = "process.stdin.on('data', () => process.exit(0)); console.log('up')"

describeBackends(backends)('shedlock-orm exec on $name', (backend) => {
  let database: TestDatabase
  let dataSource: DataSource
  let provider: SqlLockProvider

  beforeEach(async () => {
    ;({ database, dataSource } = await openDatabase(backend, migrated()))
    provider = typeOrmLockProvider(dataSource)
  })

  const node = (script: string): string[] => ['--', process.execPath, '-e', script]
  const exec = (...args: string[]): Promise<Finished> => runCli(args, { env: { DATABASE_URL: database.url } })
  const start = (args: readonly string[], script: string, url = database.url): Started =>
    startCli([...args, ...node(script)], { DATABASE_URL: url })
  const held = async (): Promise<boolean> => (await provider.table.list()).some((lock) => lock.held)

  itIf(backend.dialect in OTHER_CONNECTIONS, 'a server')(
    'frees the lock though the connection broke in the meantime',
    async () => {
      const { child, up, ended } = start(LOCK, UNTIL_STOPPED)
      await up
      const connections: { id: number }[] = await dataSource.query(OTHER_CONNECTIONS[backend.dialect] ?? '')
      expect(connections).toHaveLength(1)
      for (const { id } of connections)
        await dataSource.query(
          backend.dialect === 'postgres' ? `select pg_terminate_backend(${id})` : `kill ${id}`,
        )
      child.stdin.end('stop')
      expect(await ended).toEqual([0, null])
      expect(await held()).toBe(false)
    },
  )

  // test/cli/list-and-release.test.ts shows that each driver connects; when to connect again is decided above them.
  itIf(backend.dialect === 'postgres', 'a server')(
    'extends and releases its lock on a new connection after the old one stopped answering',
    async () => {
      const url = new URL(database.url)
      const proxy = await TcpProxy.listen(Number(url.port))
      url.port = String(proxy.port)
      try {
        const startBehindProxy = (...options: string[]): Started =>
          start(['exec', 'job', ...options], UNTIL_STOPPED, url.href)
        // Extends its lock, and frees it, by a new connection.
        const first = startBehindProxy('--lock-at-most-for', '7s', '--keep-alive')
        await first.up
        proxy.silence()
        await eventually(async () => {
          const lock = await provider.table.find('job')
          expect((lock?.lockUntil.getTime() ?? 0) - (lock?.lockedAt.getTime() ?? 0)).toBeGreaterThan(8_000)
        })
        proxy.silence()
        first.child.stdin.end('stop')
        expect(await first.ended).toEqual([0, null])
        expect(await held()).toBe(false)
        // Ends though nobody answers, and at SIGTERM at once; its lock expires.
        const second = startBehindProxy('--lock-at-most-for', '10m')
        await second.up
        proxy.silence()
        proxy.mute(true)
        second.child.stdin.end('stop')
        expect(await second.ended).toEqual([0, null])
        expect(await held()).toBe(true)
        const third = startBehindProxy('--lock-at-most-for', '10m')
        third.child.kill('SIGTERM')
        expect(await third.ended).toEqual([null, 'SIGTERM'])
      } finally {
        await proxy.close()
      }
    },
  )

  // What follows is the same on each.
  if (backend !== backends[0]) return

  it('runs the command under the lock, frees it, and has its exit code', async () => {
    const script = 'console.log(process.argv.slice(1).join()); process.exitCode = 42'
    expect(await exec(...LOCK, '--quiet', ...node(script), '--', '-x', 'y z')).toEqual({
      status: 42,
      stdout: '-x,y z\n',
      stderr: '',
    })
    expect(await held()).toBe(false)
    const sql = await exec(...LOCK, '--lock-at-least-for', '5m', ...node(''))
    expect(sql.status).toBe(0)
    expect(await held()).toBe(true)
  })

  it('skips the command while another process holds the lock, and says so, unless it is --quiet', async () => {
    await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    const { status, stdout, stderr } = await exec(...LOCK, ...node('console.log(1)'))
    expect({ status, stdout }).toEqual({ status: 75, stdout: '' })
    expect(stderr).toMatch(
      /^shedlock-orm: table .*\nshedlock-orm: Lock 'job' is held by \S+ until \S+ .* was skipped/,
    )
    expect((await exec(...LOCK, '--skipped-exit-code', '0', ...node(''))).status).toBe(0)
    expect(await exec(...LOCK, '--quiet', ...node(''))).toEqual({ status: 75, stdout: '', stderr: '' })
    // Errors are printed.
    const failed = await exec(...LOCK, '--quiet', '--table-name', 'other', ...node(''))
    expect(failed).toMatchObject({ status: 3, stderr: expect.stringContaining("no lock table 'other'") })
  })

  it.each([
    [[], 'SIGTERM', 7],
    [['--abort-after', '1h'], 'SIGTERM', 0],
    [['--abort-after', '20ms'], 'SIGTERM', 7],
    [['--abort-after', '1h'], 'SIGINT', 7],
  ] as const)(
    'with %j and %s, the command ends with %i, and the lock is freed after it',
    async (options, signal, status) => {
      const exits = "for (const each of ['SIGTERM', 'SIGINT']) process.on(each, () => process.exit(7))"
      // Without a handler, Node.js starts its inspector, and aborts if the process ends meanwhile.
      const goesOn = "process.on('SIGUSR1', () => undefined)"
      const { child, up, ended } = start([...LOCK, ...options], `${exits}; ${goesOn}; ${UNTIL_STOPPED}`)
      await up
      expect(await held()).toBe(true)
      child.kill(signal)
      // The command has ended by then if the signal was passed on at once.
      if (status === 0) {
        child.kill('SIGUSR1')
        await new Promise(setImmediate)
        child.stdin.end('stop')
      }
      expect(await ended).toEqual([status, null])
      expect(await held()).toBe(false)
    },
  )

  it('passes SIGUSR2 on, and goes on', async () => {
    const prints = "process.on('SIGUSR2', () => console.log('got it'))"
    const { child, up, ended, said } = start(LOCK, `${prints}; ${UNTIL_STOPPED}`)
    await up
    child.kill('SIGUSR2')
    await eventually(() => expect(said('stdout')).toBe('up\ngot it\n'))
    expect(await held()).toBe(true)
    child.stdin.end('stop')
    expect(await ended).toEqual([0, null])
  })

  it('runs the command and frees its lock though nobody reads what it says', async () => {
    const { child, up, ended } = start(LOCK, UNTIL_STOPPED)
    child.stderr.destroy()
    await up
    child.stdin.end('stop')
    expect(await ended).toEqual([0, null])
    expect(await held()).toBe(false)
  })

  it('stops the command after a release by hand, and reports it', async () => {
    const forever = node('setInterval(() => 0, 1e6)')
    const running = exec('exec', 'job', '--lock-at-most-for', '4s', '--keep-alive', ...forever)
    await eventually(async () => expect(await held()).toBe(true))
    expect((await exec('release', 'job', '--yes')).status).toBe(0)
    const { status, stderr } = await running
    expect(status).toBe(76)
    expect(stderr).toMatch(/Lock 'job' .* released by hand.* The command is being stopped\.$/m)
    expect(stderr).not.toContain('lease was over')
  })

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

  it('stops the command at the end of --keep-alive-at-most, and not before', async () => {
    const forever = node('setInterval(() => 0, 1e6)')
    const limited = ['--lock-at-most-for', '4s', '--keep-alive-at-most', '5s']
    const running = exec('exec', 'job', ...limited, ...forever)
    // Extended at least once.
    await eventually(async () => {
      const [lock] = await provider.table.list()
      expect((lock?.lockUntil.getTime() ?? 0) - (lock?.lockedAt.getTime() ?? 0)).toBeGreaterThan(5_000)
    })
    const { status, stderr } = await running
    expect({ status, stderr }).toEqual({
      status: 76,
      stderr: expect.stringMatching(
        /^shedlock-orm: Lock 'job' .* no longer extended, .*keepAlive\.atMost.* The command is being stopped\.$/m,
      ),
    })
    expect(await held()).toBe(false)
  })
})
