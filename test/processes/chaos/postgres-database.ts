import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { dialects, tableDefinition } from '../../../src/sql/internal'
import { freePort } from '../../backends/free-port'
import { hasPgBouncer, startPgBouncer } from '../../backends/pgbouncer'
import { around } from './around'
import type { ChaosDatabase, ConnectionWishes } from './chaos-database'
import { DataDirectory } from '../servers/data-directory'
import { initializePostgres, startPostgres } from '../servers/postgres-programs'
import { ServerProcess } from '../servers/server-process'
import { TcpProxy } from '../servers/tcp-proxy'
import { noteDestroyed, readWitness } from './witness'

const NOW = 'extract(epoch from clock_timestamp()) * 1000'
const EPOCH = (column: string): string => `extract(epoch from ${column}) * 1000`
const TRIGGER =
  'create trigger witness after insert or update or delete on shedlock for each row execute function witness()'
const SCHEMA = [
  'create table lock_history (seq bigserial primary key, changed_at float8, name text, locked_by text, lock_until float8, locked_at float8)',
  'create table task_resource (name varchar(64) primary key, value bigint not null, current_run text)',
  'create table task_commit (run text primary key, name text, guarded boolean, seen text)',
  `create function witness() returns trigger language plpgsql security definer as $$ begin
     if tg_op = 'DELETE' then
       insert into lock_history (changed_at, name, locked_by, lock_until, locked_at) values (${NOW}, old.name, null, 0, 0);
     else
       insert into lock_history (changed_at, name, locked_by, lock_until, locked_at)
       values (${NOW}, new.name, new.locked_by, ${EPOCH('new.lock_until')}, ${EPOCH('new.locked_at')});
     end if;
     return null;
   end $$`,
]

/** A server that the harness started, which faults may kill or deprive of disk space. */
interface OwnServer {
  readonly process: ServerProcess
  readonly directory: DataDirectory
  readonly data: string
  readonly pooler: Awaited<ReturnType<typeof startPgBouncer>> | undefined
}

/**
 * Creates a private database on the server at the URL, which is not harmed, or else on a server of its own, with PgBouncer in front
 * of it if that is installed.
 */
export async function postgresDatabase(names: readonly string[], url?: string): Promise<ChaosDatabase> {
  const chaos = `chaos_${process.pid}`
  const { hostname, port } = new URL(url ?? `postgres://127.0.0.1:${await freePort()}`)
  const login = url ?? `postgres://postgres@127.0.0.1:${port}/postgres`
  const connected = async <T>(
    database: string | undefined,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const client = new Client({
      connectionString: Object.assign(new URL(login), database && { pathname: database }).href,
    })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const admin = <T>(work: (client: Client) => Promise<T>): Promise<T> => connected(chaos, work)
  const executeOn = async (client: Client, statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await client.query(statement)
  }
  const onServer = (...statements: string[]): Promise<void> =>
    connected(undefined, (client) => executeOn(client, statements))
  const execute = (...statements: string[]): Promise<void> => admin((client) => executeOn(client, statements))
  const own = url === undefined ? await startOwn(Number(port), chaos, () => onServer('select 1')) : undefined
  const createTable = [
    ...tableDefinition(dialects.postgres).up,
    `grant select, insert, update on shedlock to ${chaos}`,
    TRIGGER,
  ]

  await onServer(`create role ${chaos} login`, `create database ${chaos}`)
  await execute(
    ...SCHEMA,
    `grant select, insert, update on task_resource to ${chaos}`,
    `grant insert on task_commit to ${chaos}`,
    ...createTable,
    ...names.map((name) => `insert into task_resource values ('${name}', 0, null)`),
  )
  const version = await admin(async (client) => {
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return `PostgreSQL ${rows[0]?.server_version ?? ''}`
  })
  const proxy = await TcpProxy.listen(Number(port), hostname)
  const pooler = own?.pooler

  const inTransaction = (statements: string[], work: () => Promise<void>): Promise<void> =>
    admin(async (client) => {
      await client.query('begin')
      await executeOn(client, statements)
      await work()
      await client.query('commit')
    })

  return {
    dialect: 'postgres',
    version,
    proxy,
    wishes: ['serializable', ...(pooler ? (['pooler'] as const) : [])],
    connection: ({ serializable = false, pooler: pooled = false }: ConnectionWishes = {}) => {
      const port = pooled && pooler ? new URL(pooler.url).port : proxy.port
      return { dialect: 'postgres', url: `postgres://${chaos}@127.0.0.1:${port}/${chaos}`, serializable }
    },
    witness: () => admin((client) => readWitness(async (query) => (await client.query<object>(query)).rows)),
    deleteRows: () => execute('delete from shedlock'),
    truncate: () => inTransaction(['truncate shedlock', noteDestroyed(NOW)], () => Promise.resolve()),
    dropAndCreate: () =>
      inTransaction(['drop table shedlock', noteDestroyed(NOW), ...createTable], () => Promise.resolve()),
    withTableLocked: (work) => inTransaction(['lock table shedlock in access exclusive mode'], work),
    withTableAltered: (work) =>
      inTransaction(
        [
          'alter table shedlock alter column locked_by type varchar(255)',
          'alter table shedlock add column chaos int',
          'alter table shedlock drop column chaos',
        ],
        work,
      ),
    ...(own && serverFaults(own, onServer)),
    withoutPrivileges: (work) =>
      around(
        () => execute(`revoke update on shedlock from ${chaos}`),
        work,
        () => execute(`grant update on shedlock to ${chaos}`),
      ),
    close: async () => {
      await proxy.close()
      await pooler?.stop()
      if (own) {
        await own.process.stop('SIGQUIT')
        own.directory.remove()
      } else await onServer(`drop database ${chaos} with (force)`, `drop role ${chaos}`)
    },
  }
}

async function startOwn(port: number, role: string, ask: () => Promise<void>): Promise<OwnServer> {
  const directory = new DataDirectory(400)
  const data = join(directory.path, 'data')
  await initializePostgres(data)
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory.path,
    max_wal_size: '16MB',
    timezone: 'America/New_York',
  }
  const server = new ServerProcess(() => startPostgres(data, settings), ask)
  await server.start()
  const limits = { default_pool_size: 5, ignore_startup_parameters: 'extra_float_digits,options' }
  const pooler = hasPgBouncer
    ? await startPgBouncer(`postgres://${role}@127.0.0.1:${port}`, limits)
    : undefined
  return { process: server, directory, data, pooler }
}

/** Faults that would harm a shared server. */
function serverFaults(
  { process: server, directory, data }: OwnServer,
  execute: (...statements: string[]) => Promise<void>,
): Pick<ChaosDatabase, 'restart' | 'withReadOnly' | 'withRecovery' | 'withDiskFull'> {
  return {
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
    ...(directory.mounted && {
      withDiskFull: (work) => directory.whileFull(work).finally(() => server.revive()),
    }),
  }
}
