import { LONGEST_TIMEOUT } from '../core/internal'
import { idleConnection } from '../sql/internal'
import { nativeCode } from './native-code'
import {
  adapterOf,
  type AdapterFactoryLike,
  type PrismaClientLike,
  type RawClientLike,
} from './prisma-client'
import type { UseClient } from './prisma-sql-executor'

/**
 * With these adapters a raw call is never part of a transaction of the app. libsql lets it wait until there is none open
 * (in memory it cannot have any); D1 has no transactions.
 */
const RUNS_ALONE = /^@prisma\/adapter-(libsql|d1|d1-http)$/

/**
 * SQLite in Prisma has one connection for everything: with better-sqlite3 a raw call becomes part of whatever interactive
 * transaction the app has open, and vanishes with its rollback. A file is therefore opened a second time, by the
 * client's own adapter. What lives in memory has no second connection: there each statement is a transaction of its
 * own, which waits for those of the app.
 */
export function sqliteClient(client: PrismaClientLike): UseClient {
  const adapter = adapterOf(client)
  if (RUNS_ALONE.test(adapter?.adapterName ?? '')) return (work) => work(client)

  const open = async (): Promise<SecondConnection | undefined> => {
    const file = await fileOf(client)
    return file === '' ? undefined : adapter && secondConnection(adapter, file)
  }
  const use = idleConnection(open, (second) => second?.dispose())
  return (work) =>
    use((second) => {
      if (!second) return inTurn(client, work)
      return work(second).catch((error: unknown) => {
        if (!nativeCode(error)?.startsWith('SQLITE_BUSY')) throw error
        // While transactions of the app queue up, the file is free for less than a tick: polling alone would starve.
        return inTurn(client, () => work(second))
      })
    })
}

/** Runs behind the app's transactions, in the order of the calls. */
async function inTurn<T>(
  client: PrismaClientLike,
  work: (transaction: RawClientLike) => Promise<T>,
): Promise<T> {
  // Commits whatever happens: raw calls that the app makes meanwhile are part of this transaction.
  const [outcome] = await client.$transaction((transaction) => Promise.allSettled([work(transaction)]), {
    // The caller enforces the time limit.
    maxWait: LONGEST_TIMEOUT,
  })
  if (outcome.status === 'fulfilled') return outcome.value
  throw outcome.reason
}

/** A connection beside the one of the client. */
interface SecondConnection extends RawClientLike {
  dispose(): Promise<void>
}

/** Opens the client's file once more; `undefined` when its adapter opens something else. */
async function secondConnection(
  adapter: AdapterFactoryLike,
  file: string,
): Promise<SecondConnection | undefined> {
  const connection = await adapter.connect()
  const query = (sql: string, args: unknown[]) => {
    const argTypes = args.map(() => ({ scalarType: 'unknown', arity: 'scalar' }) as const)
    return { sql, args, argTypes }
  }
  const second: SecondConnection = {
    dispose: () => connection.dispose(),
    $executeRawUnsafe: (text, ...values) => connection.executeRaw(query(text, values)),
    $queryRawUnsafe: async (text, ...values) => {
      const { columnNames, rows } = await connection.queryRaw(query(text, values))
      return rows.map((row) => Object.fromEntries(columnNames.map((name, index) => [name, row[index]])))
    },
  }
  if ((await fileOf(second)) !== file) {
    await connection.dispose()
    return undefined
  }
  // better-sqlite3 is synchronous: a positive one would freeze the event loop while the app itself holds the write lock.
  await second.$executeRawUnsafe('pragma busy_timeout = 0')
  return second
}

/** The file under a client; empty for what lives in memory. */
async function fileOf(client: RawClientLike): Promise<string> {
  const rows = await client.$queryRawUnsafe("select file from pragma_database_list where name = 'main'")
  return (rows as { file: string }[])[0]?.file ?? ''
}
