import { expect, it } from '@jest/globals'
import { HELD_BY_EXEC } from '../../src/core/locking-task-executor'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { freePort } from '../backends/free-port'
import { LOCAL, TcpProxy } from '../backends/tcp-proxy'
import { eventually } from '../eventually'
import { itIf, itOn } from '../it-if'
import { root } from '../project'
import { failed, runCli, startCli, type Started } from './built-cli'
import { LOCK, node, openCli, UNTIL_STOPPED } from './open-cli'

const backends = availableBackends().filter(({ shared, dialect }) => shared && dialect !== 'oracle')
/** Finds the other connections of a database, on a server. */
const OTHER_CONNECTIONS: Readonly<Record<string, string>> = {
  postgres:
    "select pid as id from pg_stat_activity where datname = current_database() and application_name = 'shedlock'",
  mariadb: 'select id from information_schema.processlist where db = database() and id <> connection_id()',
  mssql:
    'select session_id as id from sys.dm_exec_sessions where database_id = db_id() and session_id <> @@spid',
  mysql: 'select id from performance_schema.processlist where db = database() and id <> connection_id()',
}
const SLOT = ['--slot', '2026-11-21T10:00:00Z']

/** The way to a server that a test may silence. */
async function behindProxy(address: string) {
  const url = new URL(address)
  const proxy = await TcpProxy.listen(Number(url.port))
  afterTest(() => proxy.close())
  url.port = String(proxy.port)
  return { proxy, env: { DATABASE_URL: url.href } }
}

describeBackends(backends)('shedlock-orm exec on $name', (backend) => {
  itIf(backend.dialect in OTHER_CONNECTIONS, 'a server')(
    'frees the lock though the connection broke in the meantime',
    async () => {
      const { dataSource, running, isHeld } = await openCli(backend)
      const { stop } = await running(...LOCK, ...node(UNTIL_STOPPED))
      const connections: { id: number }[] = await dataSource.query(OTHER_CONNECTIONS[backend.dialect] ?? '')
      expect(connections).toHaveLength(1)
      for (const { id } of connections)
        await dataSource.query(
          backend.dialect === 'postgres' ? `select pg_terminate_backend(${id})` : `kill ${id}`,
        )
      expect(await stop()).toEqual([0, null])
      expect(await isHeld()).toBe(false)
    },
  )

  it('passes the name of its lock on, so that a task which it keeps from running is warned of', async () => {
    const { run } = await openCli(backend)
    const show = ['--', 'sh', '-c', `echo $${HELD_BY_EXEC}`]
    expect(await run(...LOCK, ...show)).toMatchObject({ status: 0, stdout: 'job\n' })
  })

  it('is not called gone when it was killed, because its command goes on', async () => {
    const { running, run } = await openCli(backend)
    const { child, ended } = await running(...LOCK, ...node(UNTIL_STOPPED))
    child.kill('SIGKILL')
    await ended
    expect((await run('list', 'job')).stdout).toMatch(/running.*\/exec\b/s)
    // The end of its input has not reached the command: the test's own pipe has.
    child.stdin.end('stop')
  })

  // test/cli/drivers.test.ts shows that each driver connects; when to connect again is decided above them.
  const itOnServer = itOn(backend, 'postgres')
  itOnServer(
    'extends and releases its lock on a new connection after the old one stopped answering',
    async () => {
      const { database, lease, isHeld } = await openCli(backend)
      const { proxy, env } = await behindProxy(database.url)
      const startBehindProxy = (...options: string[]): Started =>
        startCli(['exec', 'job', ...options, ...node(UNTIL_STOPPED)], env)
      // Extends its lock, and frees it, by a new connection.
      const first = startBehindProxy('--lock-at-most-for', '7s', '--keep-alive')
      await first.up
      proxy.silence()
      await eventually(async () => expect(await lease()).toBeGreaterThan(8_000))
      proxy.silence()
      expect(await first.stop()).toEqual([0, null])
      expect(await isHeld()).toBe(false)
      // Ends though nobody answers, and at SIGTERM at once; its lock expires.
      const second = startBehindProxy('--lock-at-most-for', '10m')
      await second.up
      proxy.silence()
      proxy.mute(true)
      expect(await second.stop()).toEqual([0, null])
      expect(await isHeld()).toBe(true)
      const third = startBehindProxy('--lock-at-most-for', '10m')
      third.child.kill('SIGTERM')
      expect(await third.ended).toEqual([null, 'SIGTERM'])
    },
  )

  itOnServer(
    'keeps the status of a command that has ended, though a signal ends the release of its lock',
    async () => {
      const { database } = await openCli(backend)
      const { proxy, env } = await behindProxy(database.url)
      const script = "process.stdin.on('data', () => process.exit(7)); console.log(process.pid)"
      const { child, up, ended, said } = startCli([...LOCK, ...node(script)], env)
      await up
      proxy.silence()
      proxy.mute(true)
      child.stdin.end('stop')
      await eventually(() => expect(() => process.kill(Number(said('stdout')), 0)).toThrow('ESRCH'))
      child.kill('SIGTERM')
      expect(await ended).toEqual([7, null])
    },
  )

  itOnServer('waits for a database that starts later than the command, if it may wait', async () => {
    const { database } = await openCli(backend)
    const url = new URL(database.url)
    const proxy = new TcpProxy(Number(url.port), LOCAL)
    url.port = String(await freePort())
    const env = { DATABASE_URL: url.href }
    expect(await runCli([...LOCK, ...node('')], { env })).toMatchObject({ status: 3 })
    const { said, ended } = startCli([...LOCK, '--wait', '1m', ...node('process.exit(7)')], env)
    await eventually(() => expect(said('stderr')).toMatch(/ECONNREFUSED.* – waiting for 1m at most\.$/m))
    await proxy.listenOn(Number(url.port))
    afterTest(() => proxy.close())
    expect(await ended).toEqual([7, null])
  })

  // What follows is the same on each. Signals, and the processes of a command: run-command.test.ts. A lock that is lost: exec-command-lost-lock.test.ts.
  if (backend !== backends[0]) return

  it('runs the command under the lock, frees it, and has its exit code', async () => {
    const { run, isHeld } = await openCli(backend)
    const script = 'console.log(process.argv.slice(1).join()); process.exitCode = 42'
    expect(await run(...LOCK, '--quiet', ...node(script), '--', '-x', 'y z')).toEqual({
      status: 42,
      stdout: '-x,y z\n',
      stderr: '',
    })
    expect(await isHeld()).toBe(false)
    // As a shell says of a command that a signal ended, or that is not there.
    expect((await run(...LOCK, ...node("process.kill(process.pid, 'SIGKILL')"))).status).toBe(137)
    expect(await run(...LOCK, '--', '/no/such/command')).toEqual(
      failed(127, '/no/such/command cannot be run'),
    )
    expect((await run(...LOCK, '--', root)).status).toBe(126)
    expect(await isHeld()).toBe(false)
    expect((await run(...LOCK, '--lock-at-least-for', '5m', ...node(''))).status).toBe(0)
    expect(await isHeld()).toBe(true)
  })

  it('skips the command while another process holds the lock, and says so, unless it is --quiet', async () => {
    const { provider, run } = await openCli(backend)
    await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    const { status, stdout, stderr } = await run(...LOCK, ...node('console.log(1)'))
    expect({ status, stdout }).toEqual({ status: 75, stdout: '' })
    expect(stderr).toMatch(
      /^shedlock-orm: table .*\nshedlock-orm: Lock 'job': running for .* \(\S+\) – .* was skipped/,
    )
    for (const code of [0, 255])
      expect((await run(...LOCK, '--skipped-exit-code', `${code}`, ...node(''))).status).toBe(code)
    expect(await run(...LOCK, '--quiet', ...node(''))).toEqual({ status: 75, stdout: '', stderr: '' })
    expect(await run(...LOCK, '--quiet', '--table-name', 'other', ...node(''))).toEqual(
      failed(
        3,
        /no lock table 'other' .* correct --schema and --table-name\b.* set --table-name to that name/,
      ),
    )
  })

  it('runs the command and frees its lock though nobody reads what it says', async () => {
    const { start, isHeld } = await openCli(backend)
    const { child, up, stop } = start(...LOCK, ...node(UNTIL_STOPPED))
    child.stderr.destroy()
    await up
    expect(await stop()).toEqual([0, null])
    expect(await isHeld()).toBe(false)
  })

  it('waits for the lock, and does once what succeeded', async () => {
    const { provider, run, start } = await openCli(backend)
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m', slot: 5_000 })
    const exec = ['exec', 'job', '--wait', '1m', ...SLOT, '--']
    const { ended, said } = start(...exec, 'sh', '-c', 'exit 4')
    await eventually(() => {
      expect(said('stderr')).toMatch(
        /\nshedlock-orm: Lock 'job': running for .* \(host-1\/42\) – waiting for 1m at most\.\n$/,
      )
    })
    await lock?.unlock()
    // It failed, so it is to be done again.
    expect(await ended).toEqual([4, null])
    expect(await run(...exec, 'echo', 'done')).toMatchObject({ status: 0, stdout: 'done\n' })
    expect(await run(...exec, 'echo', 'done')).toMatchObject({
      ...{ status: 0, stdout: '', stderr: expect.stringContaining('already acquired for this slot') },
    })
    // Whoever is late or older has nothing to do either; the next release has.
    const at = (slot: string) => run('exec', 'job', '--wait', '1m', '--slot', slot, '--', 'echo', 'done')
    expect((await at('2026-11-21T12:30:00+03:00')).stdout).toBe('')
    expect((await at('2026-11-21T10:00:01Z')).stdout).toBe('done\n')
  })

  it('stops waiting when it is told to', async () => {
    const { provider, run, start } = await openCli(backend)
    await provider.lock({ name: 'job', lockAtMostFor: '20s' })
    const { child, ended, said } = start('exec', 'job', '--wait', '1m', '--', 'true')
    await eventually(() => expect(said('stderr')).toContain('waiting for'))
    child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    expect(await run('exec', 'job', '--wait', '1ms', '--', 'true')).toMatchObject({ status: 75 })
  })
})
