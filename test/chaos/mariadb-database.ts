import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { dialects, tableDefinition } from '../../src/sql'
import { around } from './around'
import type { ChaosDatabase, ConnectionWishes } from './chaos-database'
import { DataDirectory } from './data-directory'
import { freePort, runAs, ServerProcess, startAs } from './server-process'
import { TcpProxy } from './tcp-proxy'
import { noteDestroyed, readWitness } from './witness'

// sysdate() moves on while a statement waits, unlike now(); the server runs in UTC.
const EPOCH = (time: string): string => `timestampdiff(microsecond, '1970-01-01', ${time}) / 1000`
const NOW = EPOCH('sysdate(6)')
const witness = (event: string, values: string): string =>
  `create trigger witness_${event} after ${event} on shedlock for each row
   insert into lock_history (at, name, locked_by, lock_until) values (${NOW}, ${values})`
const TRIGGERS = [
  witness('insert', `new.name, new.locked_by, ${EPOCH('new.lock_until')}`),
  witness('update', `new.name, new.locked_by, ${EPOCH('new.lock_until')}`),
  witness('delete', 'old.name, null, 0'),
]
const SCHEMA = [
  "create user app@'127.0.0.1'",
  'create database chaos',
  'use chaos',
  'create table lock_history (seq bigint auto_increment primary key, at double, name varchar(64), locked_by varchar(255), lock_until double)',
  'create table resource (name varchar(64) primary key, value bigint not null, current_run varchar(255))',
  'create table task_commit (run varchar(255) primary key, name varchar(64), guarded boolean, seen varchar(255))',
]
const GRANTS = [
  "grant select, insert, update on chaos.shedlock to app@'127.0.0.1'",
  "grant select, insert, update on chaos.resource to app@'127.0.0.1'",
  "grant insert on chaos.task_commit to app@'127.0.0.1'",
]

/** A MariaDB server of its own. */
export async function mariadbDatabase(names: readonly string[]): Promise<ChaosDatabase> {
  const directory = new DataDirectory(500)
  const data = join(directory.path, 'data')
  const socket = join(directory.path, 'socket')
  const port = await freePort()
  await runAs('mysql', 'mariadb-install-db', [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ])
  const startArguments = [
    '--no-defaults',
    `--datadir=${data}`,
    `--socket=${socket}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-log-bin',
    '--skip-name-resolve',
    '--default-time-zone=+00:00',
    '--innodb-log-file-size=16M',
    '--innodb-buffer-pool-size=64M',
    '--max-connections=300',
  ]

  const admin = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await createConnection({ socketPath: socket, user: 'root' })
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
  const inDatabase = (...statements: string[]): Promise<void> => execute('use chaos', ...statements)
  const server = new ServerProcess(
    () => startAs('mysql', 'mariadbd', startArguments),
    () => execute('select 1'),
  )
  const createTable = [...tableDefinition(dialects.mariadb).up, ...TRIGGERS]

  await server.start()
  await execute(
    ...SCHEMA,
    ...createTable,
    ...GRANTS,
    ...names.map((name) => `insert into resource values ('${name}', 0, null)`),
  )
  const version = await admin(async (connection) => {
    const [rows] = await connection.query<RowDataPacket[]>('select version() as version')
    return `MariaDB ${String(rows[0]?.['version'])}`
  })
  const proxy = await TcpProxy.listen(port)
  const locked = (statements: readonly string[], work: () => Promise<void>): Promise<void> =>
    admin(async (connection) => {
      await executeOn(connection, ['use chaos', ...statements])
      await work()
      await executeOn(connection, ['unlock tables'])
    })

  return {
    dialect: 'mariadb',
    version,
    proxy,
    wishes: ['serializable'],
    connection: ({ serializable = false }: ConnectionWishes = {}) => ({
      dialect: 'mariadb',
      host: '127.0.0.1',
      port: proxy.port,
      database: 'chaos',
      serializable,
    }),
    witness: () =>
      admin(async (connection) => {
        await connection.query('use chaos')
        return readWitness(async (query) => (await connection.query<RowDataPacket[]>(query))[0])
      }),
    deleteRows: () => inDatabase('delete from shedlock'),
    truncate: () => inDatabase('truncate shedlock', noteDestroyed(NOW)),
    dropAndCreate: () => inDatabase('drop table shedlock', noteDestroyed(NOW), ...createTable),
    withTableLocked: (work) => locked(['lock tables shedlock write'], work),
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
    withoutPrivileges: (work) =>
      around(
        () => execute("revoke update on chaos.shedlock from app@'127.0.0.1'"),
        work,
        () => execute("grant update on chaos.shedlock to app@'127.0.0.1'"),
      ),
    close: async () => {
      await proxy.close()
      await server.stop('SIGKILL')
      directory.remove()
    },
  }
}
