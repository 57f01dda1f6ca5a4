import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { servers } from '../../test/backends/servers'
import { dataSourceOptions, type Connection } from '../workers/connection'
import type { LockEvent } from '../history/events'
import { around } from '../servers/around'
import { Network } from '../servers/network'
import { runAll, type Run } from '../servers/database-server'
import { OWN_SERVERS, type ServerFaults } from './own-server'
import { wordsOf, type ChaosDialect } from './words'

/** A setting that apps use: a statement that waits for a row or the table gets an error. */
export const IMPATIENT_POSTGRES = { extra: { options: '-c lock_timeout=200ms' } }

export interface ConnectionWishes {
  readonly serializable?: boolean
  /** Connect through a pooler that reassigns the server connection after each transaction. */
  readonly pooler?: boolean
}

type Work = () => Promise<void>

/** A private database that faults may break. It omits the methods that it does not support or that would harm a shared server. */
export interface ChaosDatabase extends ServerFaults {
  readonly dialect: ChaosDialect
  readonly version: string
  /** The proxy between the workers and the server. An embedded database has none. */
  readonly proxy?: Network
  readonly wishes: readonly (keyof ConnectionWishes)[]
  /** Returns a connection with the lock's own role, if the database has roles: it may only select, insert and update. */
  connection(wishes?: ConnectionWishes): Connection
  /** What triggers and tasks have recorded. */
  witness(): Promise<LockEvent[]>

  deleteRows?(): Promise<void>
  truncate?(): Promise<void>
  dropAndCreate?(): Promise<void>
  /** Locks the lock table against all other sessions until the work is done. */
  withTableLocked?(work: Work): Promise<void>
  withTableAltered?(work: Work): Promise<void>
  /** Lets the lock's role read the table but not change it until the work is done. */
  withoutPrivileges?(work: Work): Promise<void>
  close(): Promise<void>
}

async function inSession<T>(options: DataSourceOptions, work: (run: Run) => Promise<T>): Promise<T> {
  const dataSource = await new DataSource(options).initialize()
  try {
    const session = dataSource.createQueryRunner()
    const result = await work((statement) => session.query(statement) as ReturnType<Run>)
    await session.release()
    return result
  } finally {
    await dataSource.destroy()
  }
}

/**
 * Creates a private database with the lock table and a resource for each of the names: on the server at the URL, which is not harmed,
 * or else on a server of its own.
 */
export async function chaosDatabase(
  dialect: ChaosDialect,
  names: readonly string[],
  url?: string,
): Promise<ChaosDatabase> {
  const chaos = `chaos_${process.pid}`
  const words = wordsOf(dialect)
  const user = words.user?.(chaos)
  const server = servers.find(({ name }) => name === dialect)
  if (!server && url !== undefined) throw new Error('SQLite has no server, so --url is not possible.')
  const own = url === undefined ? await OWN_SERVERS[dialect]?.() : undefined
  const adminUrl = own?.url ?? url
  if (adminUrl === undefined) throw new Error(`--db ${dialect} needs the --url of a server.`)
  const databaseUrl = server?.databaseUrl(adminUrl, chaos) ?? adminUrl
  const optionsOf = (at: string): DataSourceOptions => ({
    ...(server?.typeOrm(at) ?? dataSourceOptions({ dialect, url: at })),
    ...own?.driver,
  })
  const onServer = (...statements: string[]): Promise<unknown> =>
    inSession(optionsOf(adminUrl), (run) => runAll(run, statements))
  const inDatabase = <T>(work: (run: Run) => Promise<T>): Promise<T> =>
    inSession(optionsOf(databaseUrl), work)
  const execute = (...statements: string[]): Promise<unknown> => inDatabase((run) => runAll(run, statements))

  if (server)
    await onServer(
      ...(user === undefined ? [] : [`create user ${user}`]),
      ...server.createDatabase(chaos),
      ...(dialect === 'oracle' ? [`grant create trigger to ${chaos}`] : []),
    )
  const grantLock = user === undefined ? [] : [`grant select, insert, update on shedlock to ${user}`]
  await execute(
    ...words.ownTables,
    ...words.lockTable,
    ...names.map((name) => `insert into task_resource values ('${name}', 0, null)`),
    ...grantLock,
    ...(user === undefined
      ? []
      : [
          `grant select, insert, update on task_resource to ${user}`,
          `grant insert on task_commit to ${user}`,
        ]),
  )
  const [row] = await inDatabase((run) =>
    run(server?.versionQuery ?? "select 'SQLite ' || sqlite_version() as version"),
  )
  const { hostname, port } = new URL(adminUrl)
  const proxy = server && (await Network.listen(Number(port || server.container.port), hostname))
  const pooler = await own?.startPooler?.(chaos)

  const transaction = async (statements: readonly string[], work?: Work): Promise<void> =>
    inDatabase(async (run) => {
      await beginWhenFree(() => run(words.table?.begin ?? ''))
      await runAll(run, statements)
      await work?.()
      await runAll(run, words.table?.end ?? [])
    })
  const { table, lockTable, noteDestroyed } = words

  return {
    dialect,
    version: String(row?.['version']).split(/ on |\n/)[0] ?? '',
    ...(proxy && { proxy }),
    wishes: [
      ...(user === undefined ? [] : (['serializable'] as const)),
      ...(pooler ? (['pooler'] as const) : []),
    ],
    connection: ({ serializable = false, pooler: pooled = false }: ConnectionWishes = {}) => {
      if (!proxy) return { dialect, url: databaseUrl }
      const port = pooled && pooler ? new URL(pooler.url).port : String(proxy.port)
      const own = user === undefined ? {} : { username: chaos, password: '' }
      return {
        dialect,
        url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port, ...own }).href,
        serializable,
      }
    },
    witness: () => inDatabase(readWitness),
    ...(table && {
      deleteRows: () => transaction(['delete from shedlock']),
      truncate: () =>
        transaction([table.truncate, ...(table.truncate.startsWith('delete') ? [] : [noteDestroyed])]),
      dropAndCreate: () => transaction(['drop table shedlock', noteDestroyed, ...lockTable, ...grantLock]),
      withTableLocked: (work: Work) => transaction(table.lock, work),
    }),
    ...(table?.alter && { withTableAltered: (work: Work) => transaction(table.alter ?? [], work) }),
    ...own?.faults,
    ...(user !== undefined && {
      withoutPrivileges: (work: Work) =>
        around(
          () => execute(`revoke update on shedlock from ${user}`),
          work,
          () => execute(`grant update on shedlock to ${user}`),
        ),
    }),
    close: async () => {
      await proxy?.close()
      await pooler?.stop()
      if (own) return own.close()
      // A session of a killed process may still use the database. Then dropping it fails, which must not hide the results.
      const drop = [
        ...(server?.dropDatabase(chaos) ?? []),
        ...(user === undefined ? [] : [`drop user ${user}`]),
      ]
      await onServer(...drop).catch((error: unknown) => {
        console.error(`${chaos} could not be dropped from the server: ${String(error)}`)
      })
    },
  }
}

/** Begins a transaction. Where that takes a lock, as on SQLite, it is tried again: to wait inside would block the harness. */
async function beginWhenFree(begin: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await begin()
      return
    } catch (error) {
      if (attempt > 3_000) throw error
      await sleep(2)
    }
  }
}

/** Drivers return whole numbers as numbers or strings, booleans as booleans or as 0 and 1, and Oracle's columns in upper case. */
async function readWitness(run: Run): Promise<LockEvent[]> {
  const read = async (query: string): Promise<Record<string, unknown>[]> =>
    (await run(query)).map((row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column.toLowerCase(), value])),
    )
  const changes = await read(
    'select seq, changed_at, name, locked_by, lock_until, locked_at from lock_history order by seq',
  )
  const commits = await read('select run, name, guarded, seen from task_commit')
  const resources = await read('select name, value from task_resource')
  return [
    ...changes.map(
      ({ seq, changed_at: at, name, locked_by: lockedBy, lock_until: lockUntil, locked_at: lockedAt }) => ({
        ...{ type: 'change', seq: Number(seq), at, name, lockedBy, lockUntil, lockedAt },
      }),
    ),
    ...commits.map((commit) => ({ type: 'commit', ...commit, guarded: Boolean(commit['guarded']) })),
    ...resources.map(({ name, value }) => ({ type: 'resource', name, value: Number(value) })),
  ] as LockEvent[]
}
