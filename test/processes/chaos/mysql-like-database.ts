import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type Connection, type ConnectionOptions, type RowDataPacket } from 'mysql2/promise'
import { dialects, tableDefinition } from '../../../src/sql/internal'
import { freePort } from '../../backends/free-port'
import { around } from './around'
import type { ChaosDatabase, ConnectionWishes } from './chaos-database'
import { DataDirectory } from '../servers/data-directory'
import { inFolder, type ServerProgram } from '../servers/mysql-programs'
import { ServerProcess, startAs } from '../servers/server-process'
import { TcpProxy } from '../servers/tcp-proxy'
import { noteDestroyed, readWitness } from './witness'

// Unlike now(), sysdate() moves on while a statement waits. The lock's own times are in UTC.
const NOW = 'unix_timestamp(sysdate(6)) * 1000'
const EPOCH = (time: string): string => `timestampdiff(microsecond, '1970-01-01', ${time}) / 1000`
const witness = (event: string, values: string): string =>
  `create trigger witness_${event} after ${event} on shedlock for each row
   insert into lock_history (changed_at, name, locked_by, lock_until, locked_at) values (${NOW}, ${values})`
const NEW_ROW = `new.name, new.locked_by, ${EPOCH('new.lock_until')}, ${EPOCH('new.locked_at')}`
const TRIGGERS = [
  witness('insert', NEW_ROW),
  witness('update', NEW_ROW),
  witness('delete', 'old.name, null, 0, 0'),
]
const SCHEMA = [
  'create table lock_history (seq bigint auto_increment primary key, changed_at double, name varchar(64), locked_by varchar(255), lock_until double, locked_at double)',
  'create table task_resource (name varchar(64) primary key, value bigint not null, current_run varchar(255))',
  'create table task_commit (run varchar(255) primary key, name varchar(64), guarded boolean, seen varchar(255))',
]

/** A server that the harness started, which faults may kill or deprive of disk space. */
interface OwnServer {
  readonly process: ServerProcess
  readonly directory: DataDirectory
}

/** Creates a private database on the server at the URL, which is not harmed, or else on a server of its own. */
export async function mysqlLikeDatabase(
  program: ServerProgram,
  names: readonly string[],
  url: string | undefined,
): Promise<ChaosDatabase> {
  const { dialect } = program
  const chaos = `chaos_${process.pid}`
  const port = url === undefined ? await freePort() : Number(new URL(url).port || 3306)
  const directory = url === undefined ? new DataDirectory(500) : undefined
  const login: ConnectionOptions = directory
    ? { socketPath: join(directory.path, 'socket'), user: 'root' }
    : { uri: url ?? '' }

  const admin = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await createConnection(login)
    connection.on('error', () => undefined)
    try {
      return await work(connection)
    } finally {
      await connection.end().catch(() => undefined)
    }
  }
  const executeOn = async (connection: Connection, statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await connection.query(statement)
  }
  const execute = (...statements: string[]): Promise<void> =>
    admin((connection) => executeOn(connection, statements))
  const inDatabase = (...statements: string[]): Promise<void> => execute(`use ${chaos}`, ...statements)
  const own = directory && {
    directory,
    process: await startOwn(program, directory, port, () => execute('select 1')),
  }

  const createTable = [...tableDefinition(dialects[dialect]).up, ...TRIGGERS]
  await execute(
    `create user ${chaos}@'%'`,
    `create database ${chaos}`,
    `use ${chaos}`,
    ...SCHEMA,
    ...createTable,
    `grant select, insert, update on ${chaos}.shedlock to ${chaos}@'%'`,
    `grant select, insert, update on ${chaos}.task_resource to ${chaos}@'%'`,
    `grant insert on ${chaos}.task_commit to ${chaos}@'%'`,
    ...names.map((name) => `insert into task_resource values ('${name}', 0, null)`),
  )
  const proxy = await TcpProxy.listen(port, url === undefined ? '127.0.0.1' : new URL(url).hostname)
  const locked = (statements: readonly string[], work: () => Promise<void>): Promise<void> =>
    admin(async (connection) => {
      await executeOn(connection, [`use ${chaos}`, ...statements])
      await work()
      await executeOn(connection, ['unlock tables'])
    })

  return {
    dialect,
    version: await admin(versionOf),
    proxy,
    wishes: ['serializable'],
    connection: ({ serializable = false }: ConnectionWishes = {}) => ({
      dialect,
      url: `mysql://${chaos}@127.0.0.1:${proxy.port}/${chaos}`,
      serializable,
    }),
    witness: () =>
      admin(async (connection) => {
        await connection.query(`use ${chaos}`)
        return readWitness(async (query) => (await connection.query<RowDataPacket[]>(query))[0])
      }),
    deleteRows: () => inDatabase('delete from shedlock'),
    truncate: () => inDatabase('truncate shedlock', noteDestroyed(NOW)),
    dropAndCreate: () => inDatabase('drop table shedlock', noteDestroyed(NOW), ...createTable),
    withTableLocked: (work) => locked(['lock tables shedlock write'], work),
    ...(own && serverFaults(own, execute)),
    withoutPrivileges: (work) =>
      around(
        () => execute(`revoke update on ${chaos}.shedlock from ${chaos}@'%'`),
        work,
        () => execute(`grant update on ${chaos}.shedlock to ${chaos}@'%'`),
      ),
    close: async () => {
      await proxy.close()
      if (own) {
        await own.process.stop('SIGKILL')
        own.directory.remove()
      } else await execute(`drop database ${chaos}`, `drop user ${chaos}@'%'`)
    },
  }
}

async function startOwn(
  { command, user, options, initialize }: ServerProgram,
  { path }: DataDirectory,
  port: number,
  ask: () => Promise<void>,
): Promise<ServerProcess> {
  const data = join(path, 'data')
  await initialize(data)
  const startArguments = [
    ...options,
    ...inFolder(data),
    `--socket=${join(path, 'socket')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-log-bin',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=64M',
    '--max-connections=300',
  ]
  const server = new ServerProcess(() => startAs(user, command, startArguments), ask)
  await server.start()
  return server
}

/** Faults that would harm a shared server. */
function serverFaults(
  { process: server, directory }: OwnServer,
  execute: (...statements: string[]) => Promise<void>,
): Pick<ChaosDatabase, 'restart' | 'withReadOnly' | 'withDiskFull'> {
  return {
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
    ...(directory.mounted && {
      withDiskFull: (work) => directory.whileFull(work).finally(() => server.revive()),
    }),
  }
}

async function versionOf(connection: Connection): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>('select version() as version')
  const version = String(rows[0]?.['version'])
  return `${version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${version}`
}
