import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { dialects, tableDefinition } from '../../src/sql'
import type { ChaosDatabase, ConnectionWishes } from './chaos-database'
import { DataDirectory } from './data-directory'
import { end, freePort, isRunning, runAs, startAs } from './server-process'
import { TcpProxy } from './tcp-proxy'

const NOW = 'extract(epoch from clock_timestamp()) * 1000'
const EPOCH = (column: string): string => `extract(epoch from ${column}) * 1000`
const TRIGGER =
  'create trigger witness after insert or update or delete on shedlock for each row execute function witness()'
const SCHEMA = [
  'create role app login',
  'create table lock_history (seq bigserial primary key, at float8, name text, locked_by text, lock_until float8)',
  'create table resource (name varchar(64) primary key, value bigint not null, current_run text)',
  'create table task_commit (run text primary key, name text, guarded boolean, seen text)',
  `create function witness() returns trigger language plpgsql security definer as $$ begin
     if tg_op = 'DELETE' then
       insert into lock_history (at, name, locked_by, lock_until) values (${NOW}, old.name, null, 0);
     else
       insert into lock_history (at, name, locked_by, lock_until)
       values (${NOW}, new.name, new.locked_by, ${EPOCH('new.lock_until')});
     end if;
     return null;
   end $$`,
  'grant select, insert, update on resource to app',
  'grant insert on task_commit to app',
]

/** A PostgreSQL server of its own, with PgBouncer beside it where that is installed. */
export async function postgresDatabase(names: readonly string[]): Promise<ChaosDatabase> {
  const directory = new DataDirectory(400)
  const data = join(directory.path, 'data')
  const port = await freePort()
  const binaries = (await runAs('postgres', 'pg_config', ['--bindir'])).trim()
  await runAs('postgres', join(binaries, 'initdb'), [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '--wal-segsize=1',
  ])
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory.path,
    max_wal_size: '16MB',
    timezone: 'America/New_York',
  }
  const start = async (): Promise<void> => {
    server = startAs('postgres', join(binaries, 'postgres'), [
      '-D',
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ])
    await whenReady()
  }
  let server = startAs('postgres', 'true', [])
  const stop = (signal: NodeJS.Signals): Promise<void> => end(server, signal)

  const admin = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const execute = (...statements: string[]): Promise<void> =>
    admin(async (client) => {
      for (const statement of statements) await client.query(statement)
    })
  const whenReady = async (): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      try {
        await execute('select 1')
        return
      } catch (error) {
        if (attempt > 300) throw error
        await sleep(50)
      }
    }
  }
  const createTable = [
    ...tableDefinition(dialects.postgres).up,
    'grant select, insert, update on shedlock to app',
    TRIGGER,
  ]
  const destroyed = `insert into lock_history (at, name, locked_by, lock_until) select ${NOW}, name, null, 0 from resource`

  await start()
  await execute(
    ...SCHEMA,
    ...createTable,
    ...names.map((name) => `insert into resource values ('${name}', 0, null)`),
  )
  const version = await admin(async (client) => {
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    return `PostgreSQL ${rows[0]?.server_version ?? ''}`
  })
  const proxy = await TcpProxy.listen(port)
  const pooler = await startPooler(directory.path, port)

  const inTransaction = (statements: string[], work: () => Promise<void>): Promise<void> =>
    admin(async (client) => {
      await client.query('begin')
      for (const statement of statements) await client.query(statement)
      await work()
      await client.query('commit')
    })

  return {
    dialect: 'postgres',
    version,
    proxy,
    wishes: ['serializable', ...(pooler ? (['pooler'] as const) : [])],
    connection: ({ serializable = false, pooler: pooled = false }: ConnectionWishes = {}) => ({
      dialect: 'postgres',
      host: '127.0.0.1',
      port: pooled && pooler ? pooler.port : proxy.port,
      database: 'postgres',
      serializable,
    }),
    witness: () =>
      admin(async (client) => {
        const rows = async <T>(query: string): Promise<T[]> => (await client.query(query)).rows as T[]
        return {
          changes: await rows(
            'select seq::float8, at, name, locked_by "lockedBy", lock_until "lockUntil" from lock_history order by lock_history.seq',
          ),
          commits: await rows('select run, name, guarded, seen from task_commit'),
          resources: await rows('select name, value::float8 from resource'),
        }
      }),
    deleteRows: () => execute('delete from shedlock'),
    truncate: () => inTransaction(['truncate shedlock', destroyed], () => Promise.resolve()),
    dropAndCreate: () =>
      inTransaction(['drop table shedlock', destroyed, ...createTable], () => Promise.resolve()),
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
    restart: async () => {
      // At once, as in a crash: the log is replayed at the next start.
      await stop('SIGQUIT')
      await start()
    },
    withReadOnly: async (work) => {
      await execute('alter system set default_transaction_read_only = on', 'select pg_reload_conf()')
      try {
        await work()
      } finally {
        await execute(
          'set default_transaction_read_only = off',
          'alter system reset default_transaction_read_only',
          'select pg_reload_conf()',
        )
      }
    },
    withRecovery: async (work) => {
      await stop('SIGINT')
      writeFileSync(join(data, 'standby.signal'), '')
      await start()
      try {
        await work()
      } finally {
        await execute('select pg_promote()')
      }
    },
    ...(directory.mounted
      ? {
          withDiskFull: async (work) => {
            directory.fill()
            try {
              await work()
            } finally {
              directory.free()
              // Without room for its log the server gives up.
              if (!isRunning(server)) await start()
              else await whenReady()
            }
          },
        }
      : {}),
    withoutPrivileges: async (work) => {
      await execute('revoke update on shedlock from app')
      try {
        await work()
      } finally {
        await execute('grant update on shedlock to app')
      }
    },
    close: async () => {
      await proxy.close()
      await pooler?.stop()
      await stop('SIGQUIT')
      directory.remove()
    },
  }
}

async function startPooler(
  directory: string,
  target: number,
): Promise<{ port: number; stop(): Promise<void> } | undefined> {
  const port = await freePort()
  const configuration = join(directory, 'pgbouncer.ini')
  // `any` gives every client one role.
  writeFileSync(
    configuration,
    `[databases]
postgres = host=127.0.0.1 port=${target} dbname=postgres user=app
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
ignore_startup_parameters = extra_float_digits
`,
  )
  const process = startAs('postgres', 'pgbouncer', ['-q', configuration])
  const failed = new Promise<true>((resolve) =>
    process
      .once('exit', () => {
        resolve(true)
      })
      .once('error', () => {
        resolve(true)
      }),
  )
  const gone = await Promise.race([failed, sleep(500, false)])
  return gone ? undefined : { port, stop: () => end(process, 'SIGTERM') }
}
