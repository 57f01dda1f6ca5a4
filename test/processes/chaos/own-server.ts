import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../backends/free-port'
import { hasPgBouncer, startPgBouncer } from '../../backends/pgbouncer'
import { DataDirectory } from '../servers/data-directory'
import { inFolder, MARIADB, MYSQL, type ServerProgram } from '../servers/mysql-programs'
import { initializePostgres, startPostgres } from '../servers/postgres-programs'
import { ServerProcess, startAs } from '../servers/server-process'
import type { ChaosDatabase } from './chaos-database'

type Execute = (...statements: string[]) => Promise<void>
type ServerFaults = Pick<ChaosDatabase, 'restart' | 'withReadOnly' | 'withRecovery' | 'withDiskFull'>

/** A server that the harness started, which faults may kill or deprive of disk space. */
export interface OwnServer {
  readonly url: string
  /** What its superuser needs in addition. */
  readonly driver?: object
  /** @param execute runs statements as the superuser, and is also asked whether the server answers */
  start(execute: Execute): Promise<void>
  faults(execute: Execute): ServerFaults
  /** Starts a pooler that reassigns the server connection after each transaction, if there is one. */
  startPooler?(role: string): Promise<{ url: string; stop(): Promise<void> }>
  close(): Promise<void>
}

/** Runs a step before the work, and a step that undoes it afterwards, even if the work fails. */
export async function around(
  before: () => unknown,
  work: () => unknown,
  after: () => unknown,
): Promise<void> {
  await before()
  try {
    await work()
  } finally {
    await after()
  }
}

async function ownPostgres(): Promise<OwnServer> {
  const directory = new DataDirectory(400)
  const data = join(directory.path, 'data')
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory.path,
    max_wal_size: '16MB',
    timezone: 'America/New_York',
  }
  let server: ServerProcess
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start: async (execute) => {
      await initializePostgres(data)
      server = new ServerProcess(
        () => startPostgres(data, settings),
        () => execute('select 1'),
      )
      await server.start()
    },
    ...(hasPgBouncer && {
      startPooler: (role) =>
        startPgBouncer(`postgres://${role}@127.0.0.1:${port}`, {
          default_pool_size: 5,
          ignore_startup_parameters: 'extra_float_digits,options',
        }),
    }),
    faults: (execute) => ({
      restart: async () => {
        // Stops at once, as in a crash, so that the next start replays the log.
        await server.stop('SIGQUIT')
        await server.start()
      },
      withReadOnly: (work) =>
        around(
          () => execute('alter system set default_transaction_read_only = on', 'select pg_reload_conf()'),
          work,
          () =>
            execute(
              'set default_transaction_read_only = off',
              'alter system reset default_transaction_read_only',
              'select pg_reload_conf()',
            ),
        ),
      withRecovery: (work) =>
        around(
          async () => {
            await server.stop('SIGINT')
            writeFileSync(join(data, 'standby.signal'), '')
            await server.start()
          },
          work,
          () => execute('select pg_promote()'),
        ),
      // The server shuts down when it has no room for its log.
      ...withDiskFull(directory, () => server.revive()),
    }),
    close: async () => {
      await server.stop('SIGQUIT')
      directory.remove()
    },
  }
}

async function ownMySql({ command, user, options, initialize }: ServerProgram): Promise<OwnServer> {
  const directory = new DataDirectory(500)
  const data = join(directory.path, 'data')
  const socketPath = join(directory.path, 'socket')
  const port = await freePort()
  const startArguments = [
    ...options,
    ...inFolder(data),
    `--socket=${socketPath}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-log-bin',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=64M',
    '--max-connections=300',
  ]
  let server: ServerProcess
  return {
    url: `mysql://root@127.0.0.1:${port}/mysql`,
    driver: { socketPath },
    start: async (execute) => {
      await initialize(data)
      server = new ServerProcess(
        () => startAs(user, command, startArguments),
        () => execute('select 1'),
      )
      await server.start()
    },
    faults: (execute) => ({
      restart: async () => {
        await server.stop('SIGKILL')
        await sleep(200)
        await server.start()
      },
      withReadOnly: (work) =>
        around(
          () => execute('set global read_only = on'),
          work,
          () => execute('set global read_only = off'),
        ),
      ...withDiskFull(directory, () => server.revive()),
    }),
    close: async () => {
      await server.stop('SIGKILL')
      directory.remove()
    },
  }
}

function ownSqlite(): OwnServer {
  const directory = new DataDirectory(100)
  return {
    url: `file:${join(directory.path, 'chaos.sqlite')}`,
    // Nobody waits inside of SQLite, which would block the harness.
    driver: { timeout: 0 },
    start: () => Promise.resolve(),
    faults: () => withDiskFull(directory),
    close: () => {
      directory.remove()
      return Promise.resolve()
    },
  }
}

function withDiskFull(
  directory: DataDirectory,
  revive = () => Promise.resolve(),
): Pick<ServerFaults, 'withDiskFull'> {
  if (!directory.mounted) return {}
  return { withDiskFull: (work) => directory.whileFull(work).finally(revive) }
}

/** The databases that the harness can start itself. */
export const OWN_SERVERS: Partial<Record<string, () => Promise<OwnServer> | OwnServer>> = {
  postgres: ownPostgres,
  mariadb: () => ownMySql(MARIADB),
  mysql: () => ownMySql(MYSQL),
  sqlite: ownSqlite,
}
