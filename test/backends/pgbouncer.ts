import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DIRECTORY } from './directory'
import { freePort } from './free-port'
import { waitForPort } from './wait-for-port'

const PROGRAM = process.env['PGBOUNCER'] ?? 'pgbouncer'
const version = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout as string | null
const [, major = 0, minor = 0] = /PgBouncer (\d+)\.(\d+)/.exec(version ?? '')?.map(Number) ?? []

/** Whether there is a PgBouncer, of 1.21 or later if it shall keep prepared statements; `PGBOUNCER` names another program. */
export const hasPgBouncer = major > 0
export const hasPreparingPgBouncer = major > 1 || minor >= 21

/** PgBouncer in transaction mode, in front of the server of this URL. */
export async function startPgBouncer(
  url: string,
  settings: Readonly<Record<string, string | number>> = {},
  [program, ...args]: readonly [string, ...string[]] = [PROGRAM],
): Promise<{ url: string; stop(): Promise<void> }> {
  const { hostname, port, username, password } = new URL(url)
  const listen = await freePort()
  const folder = mkdtempSync(join(DIRECTORY, 'shedlock-pgbouncer-'))
  chmodSync(folder, 0o755)
  const configuration = join(folder, 'pgbouncer.ini')
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: listen,
    unix_socket_dir: '',
    // Every client is let in.
    auth_type: 'any',
    pool_mode: 'transaction',
    ...settings,
  }
  writeFileSync(
    configuration,
    [
      '[databases]',
      `* = host=${hostname} port=${port || '5432'} user=${username}${password && ` password=${password}`}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  )
  // It does not run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(program, [...args, ...user, configuration], { stdio: 'ignore' })
  const kill = (): void => void child.kill('SIGKILL')
  // It shall not outlive a test that was broken off.
  process.once('exit', kill)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await waitForPort(listen)
  return {
    url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(listen) }).href,
    stop: async () => {
      process.off('exit', kill)
      kill()
      await exited
      rmSync(folder, { recursive: true })
    },
  }
}
