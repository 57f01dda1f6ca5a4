import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/backends/free-port'
import { hasPgBouncer, startPgBouncer } from '../../test/backends/pgbouncer'
import { around } from '../servers/around'
import { DataDirectory } from '../servers/data-directory'
import { MARIADB, MYSQL } from '../servers/mysql-programs'
import { MySqlServer } from '../servers/mysql-server'
import { PostgresServer } from '../servers/postgres-server'

const MEGABYTES = 500

/** The servers that the harness can start, each alone and with a small disk. */
const ALONE = {
  postgres: (port: number) => new PostgresServer(port, MEGABYTES),
  mariadb: (port: number) => new MySqlServer(MARIADB, port, MEGABYTES, ['--skip-log-bin']),
  mysql: (port: number) => new MySqlServer(MYSQL, port, MEGABYTES, ['--skip-log-bin']),
} as const

type Work = () => Promise<void>

/** What faults may do to a server of the harness's own, if it supports that. */
export interface ServerFaults {
  restart?(): Promise<void>
  withReadOnly?(work: Work): Promise<void>
  withRecovery?(work: Work): Promise<void>
  withDiskFull?(work: Work): Promise<void>
}

/** A server that the harness started, which faults may kill or deprive of disk space. */
export interface OwnServer {
  readonly url: string
  /** What its superuser needs in addition. */
  readonly driver?: object
  readonly faults: ServerFaults
  /** Starts a pooler that reassigns the server connection after each transaction, if there is one. */
  startPooler?(role: string): Promise<{ url: string; stop(): Promise<void> }>
  close(): Promise<void>
}

async function own(dialect: keyof typeof ALONE): Promise<OwnServer> {
  const server = ALONE[dialect](await freePort())
  await server.create()
  const { port, data } = server
  const common = {
    faults: {
      restart: async () => {
        await server.kill()
        await server.start()
      },
      withReadOnly: (work) => server.whileReadOnly(work),
      // PostgreSQL shuts down when it has no room for its log.
      ...withDiskFull(server.directory, () => server.revive()),
    },
    close: () => server.close(),
  } satisfies Partial<OwnServer>
  if (server instanceof MySqlServer)
    return { ...common, url: `mysql://root@127.0.0.1:${port}/mysql`, driver: { socketPath: server.socket } }
  const recover = async (): Promise<void> => {
    await server.stop('SIGINT')
    writeFileSync(join(data, 'standby.signal'), '')
    await server.start()
  }
  return {
    ...common,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    faults: {
      ...common.faults,
      withRecovery: (work) => around(recover, work, () => server.execute('select pg_promote()')),
    },
    ...(hasPgBouncer && {
      startPooler: (role) =>
        startPgBouncer(`postgres://${role}@127.0.0.1:${port}`, {
          default_pool_size: 5,
          ignore_startup_parameters: 'extra_float_digits,options',
        }),
    }),
  }
}

function ownSqlite(): OwnServer {
  const directory = new DataDirectory(100)
  return {
    url: `file:${join(directory.path, 'chaos.sqlite')}`,
    // Nobody waits inside of SQLite, which would block the harness.
    driver: { timeout: 0 },
    faults: withDiskFull(directory),
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
  return {
    withDiskFull: async (work) => {
      try {
        await directory.whileFull(work)
      } finally {
        await revive()
      }
    },
  }
}

/** The databases that the harness can start itself. */
export const OWN_SERVERS: Partial<Record<string, () => Promise<OwnServer> | OwnServer>> = {
  postgres: () => own('postgres'),
  mariadb: () => own('mariadb'),
  mysql: () => own('mysql'),
  sqlite: ownSqlite,
}
