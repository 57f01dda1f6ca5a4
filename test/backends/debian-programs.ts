import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ServerProcess, startAs } from './server-process'
import { DIRECTORY } from './directory'
import { freePort } from './free-port'
import { CACHE } from './install-package'
import { startPgBouncer } from './pgbouncer'
import type { StartedServer } from './server'
import { waitForPort } from './wait-for-port'

/** What a program is given for one run. */
interface Place {
  /** A folder of its own, in which everybody may write. */
  readonly folder: string
  readonly port: number
  /** The unpacked files of its package. */
  readonly root: string
}

function unpack(name: string): { unpacked: string; version: string } {
  const unpacked = join(CACHE, 'debian', name)
  execFileSync(join(__dirname, '../../.ci/unpack'), [unpacked, name])
  const [version = ''] = /\d+(\.\d+)+/.exec(readFileSync(join(unpacked, 'version'), 'utf8')) ?? []
  return { unpacked, version }
}

/**
 * Starts a program of Debian's unstable suite as a user without privileges. Its package is unpacked into a cache when a run first needs
 * it, and nothing is installed.
 *
 * @param argsIn creates what the program needs, and returns its arguments
 */
async function startProgram(name: string, program: string, argsIn: (place: Place) => readonly string[]) {
  const { unpacked, version } = unpack(name)
  const folder = mkdtempSync(join(DIRECTORY, `shedlock-${name}-`))
  chmodSync(folder, 0o777)
  const port = await freePort()
  const args = argsIn({ folder, port, root: join(unpacked, 'root') })
  const server = new ServerProcess(
    () => startAs('nobody', join(unpacked, 'run'), [program, ...args]),
    () => waitForPort(port),
  )
  await server.start()
  const stop = async (): Promise<void> => {
    await server.stop('SIGKILL')
    rmSync(folder, { recursive: true })
  }
  return { port, version, note: `Debian's ${name} ${version}`, stop }
}

/** Starts MariaDB on a new data directory with time zones. */
export async function startMariaDb(): Promise<StartedServer> {
  const { port, note, stop } = await startProgram(
    'mariadb-server',
    '/usr/sbin/mariadbd',
    ({ folder, port, root }) => {
      const run = (...args: string[]) => execFileSync(join(root, '../run'), args, { maxBuffer: 1e8 })
      const data = join(folder, 'data')
      mkdirSync(data)
      chmodSync(data, 0o777)
      const options = [
        ...['--no-defaults', `--datadir=${data}`, `--tmpdir=${folder}`, `--socket=${folder}/socket`],
        ...[`--lc-messages-dir=${root}/usr/share/mariadb`, `--plugin-dir=${root}/usr/lib/mysql/plugin`],
      ]
      // What mariadb-install-db does, which calls other programs.
      const script = (name: string) => readFileSync(`${root}/usr/share/mariadb/mariadb_${name}.sql`, 'utf8')
      const input = [
        'create database mysql;\nuse mysql;\nset @auth_root_socket = null;',
        ...['system_tables', 'performance_tables', 'system_tables_data'].map(script),
        run('/usr/bin/mariadb-tzinfo-to-sql', '/usr/share/zoneinfo'),
      ].join('\n')
      const bootstrap = [...options, '--bootstrap', '--user=nobody']
      execFileSync(join(root, '../run'), ['/usr/sbin/mariadbd', ...bootstrap], { input, stdio: 'pipe' })
      return [...options, `--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve']
    },
  )
  return { url: `mysql://root@127.0.0.1:${port}/mysql`, note, stop }
}

/** Programs between an app and its server, by the names of their backends: each starts in front of the server of a URL. */
export const proxies = {
  pgbouncer: async (target: URL) => {
    const { unpacked, version } = unpack('pgbouncer')
    const program = [join(unpacked, 'run'), '/usr/sbin/pgbouncer'] as const
    const started = await startPgBouncer(target.href, {}, program)
    return {
      ...started,
      port: Number(new URL(started.url).port),
      version,
      note: `Debian's pgbouncer ${version}`,
    }
  },

  odyssey: ({ hostname, port: target }: URL) =>
    startProgram('odyssey', '/usr/bin/odyssey', ({ folder, port }) => {
      const configuration = `
        daemonize no
        unix_socket_dir "${folder}"
        unix_socket_mode "0644"
        locks_dir "${folder}"
        log_to_stdout no
        log_format "%m"
        listen { host "127.0.0.1" port ${port} }
        storage "server" { type "remote" host "${hostname}" port ${target} }
        database default {
          user default {
            authentication "none"
            storage "server"
            pool "transaction"
            pool_size 0
            pool_reserve_prepared_statement yes
          }
        }`
      return [written(folder, configuration)]
    }),

  pgpool: ({ hostname, port: target }: URL) =>
    startProgram('pgpool2', '/usr/sbin/pgpool', ({ folder, port }) => {
      const settings = {
        ...{
          backend_clustering_mode: "'raw'",
          listen_addresses: "'127.0.0.1'",
          port,
          pcp_listen_addresses: "''",
        },
        ...{ unix_socket_directories: `'${folder}'`, pcp_socket_dir: `'${folder}'`, work_dir: `'${folder}'` },
        ...{ pid_file_name: `'${folder}/pid'`, logdir: `'${folder}'`, num_init_children: 60, max_pool: 1 },
        ...{ backend_hostname0: `'${hostname}'`, backend_port0: target },
      }
      const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
      return ['-n', '-f', written(folder, lines.join('\n'))]
    }),

  haproxy: ({ hostname, port: target }: URL) =>
    startProgram('haproxy', '/usr/sbin/haproxy', ({ folder, port }) => {
      const configuration = `
        defaults
          mode tcp
          timeout connect 5s
          timeout client 10m
          timeout server 10m
        listen database
          bind 127.0.0.1:${port}
          server primary ${hostname}:${target} check
        `
      return ['-db', '-f', written(folder, configuration)]
    }),

  mysqlrouter: ({ hostname, port: target }: URL) =>
    startProgram('mysql-router', '/usr/bin/mysqlrouter', ({ folder, port, root }) => {
      const configuration = [
        ...['[DEFAULT]', `logging_folder=${folder}`, `runtime_folder=${folder}`, `data_folder=${folder}`],
        `plugin_folder=${root}/usr/lib/mysqlrouter/plugin`,
        ...['[routing:primary]', 'bind_address=127.0.0.1', `bind_port=${port}`, 'protocol=classic'],
        ...[`destinations=${hostname}:${target}`, 'routing_strategy=first-available'],
      ]
      return ['-c', written(folder, configuration.join('\n'))]
    }),
}

function written(folder: string, configuration: string): string {
  const file = join(folder, 'configuration')
  writeFileSync(file, `${configuration}\n`)
  return file
}

/** Starts one of the proxies in front of a server, which stops with it. */
export async function startProxy(name: keyof typeof proxies, server: StartedServer): Promise<StartedServer> {
  const proxy = await proxies[name](new URL(server.url))
  return {
    url: Object.assign(new URL(server.url), { hostname: '127.0.0.1', port: String(proxy.port) }).href,
    note: `${proxy.note} in front of ${server.note}`,
    version: proxy.version,
    stop: async () => {
      await proxy.stop()
      await server.stop()
    },
  }
}
