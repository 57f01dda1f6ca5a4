import { existsSync } from 'node:fs'
import { LONGEST_TIMEOUT } from '../core/internal'
import { openSqliteFile, type Driver, type DriverSession, type RunStatement } from '../drivers/internal'
import {
  hasOwnEngine,
  rawClientOf,
  type AdapterFactoryLike,
  type PrismaClientLike,
  type RawClientLike,
} from './prisma-client'
import { runRaw } from './prisma-driver'

/** With these adapters there is no transaction of the app that a raw call could join. */
const RUNS_ALONE = /^@prisma\/adapter-(d1|d1-http)$/

/**
 * With this adapter, a raw call waits until no transaction is open. But it never ends a statement that found the file busy. Until that
 * statement is garbage-collected, its connection commits nothing, although each statement succeeds. So a connection is not used again
 * after an error.
 */
const LIBSQL = '@prisma/adapter-libsql'

/** Whether a database of libsql is a file that is written here: a server's is not, and a replica's writes go to its server. */
function isWrittenHere(path: string): boolean {
  return existsSync(path) && !['-info', '-client_wal_index'].some((suffix) => existsSync(path + suffix))
}

/**
 * Keeps lock statements out of the app's transactions on SQLite. Adapters have a single connection to it, so with better-sqlite3 a raw
 * call would join the app's open interactive transaction and vanish when that is rolled back. A file is therefore opened a second
 * time, with the client's own adapter. An in-memory database has no second connection: there each statement is an interactive
 * transaction that waits for those of the app.
 *
 * @returns how to open a session; `undefined` if each raw call runs alone
 */
export function sqliteOpener(
  client: PrismaClientLike,
  adapter: AdapterFactoryLike | undefined,
  { errorCode }: Driver,
): (() => Promise<DriverSession>) | undefined {
  if (hasOwnEngine(client) || RUNS_ALONE.test(adapter?.adapterName ?? '')) return undefined
  const runInTurn: RunStatement = (...statement) => inTurn(client, (raw) => runRaw(raw, ...statement))
  const isLibsql = adapter?.adapterName === LIBSQL
  let file: string | undefined
  return async () => {
    // A libsql server may reject the pragma that reads the path. Another error is not cached, so the next session reads it again.
    const found = file ?? (await fileOf(client).catch((error: unknown) => error))
    if (typeof found === 'string') file = found
    else if (!isLibsql) throw found
    const path = file ?? ''
    const connect = adapter?.connect?.bind(adapter)
    if (isLibsql && !isWrittenHere(path)) return { run: (...statement) => runRaw(client, ...statement) }
    if (path === '' || !connect) return { run: runInTurn }
    return openSqliteFile(path, async () => {
      const connection = await connect()
      const second = rawClientOf(connection)
      let isUsable = true
      // better-sqlite3 is synchronous: with a positive timeout, waiting for the app's own write lock would block the event loop.
      await second.$queryRawUnsafe('pragma busy_timeout = 0')
      const run: RunStatement = (...statement) =>
        runRaw(second, ...statement).catch((error: unknown) => {
          isUsable = !isLibsql
          if (isLibsql || !errorCode(error as object)?.startsWith('SQLITE_BUSY')) throw error
          // While the app's transactions queue up, the file is free for less than a tick, so polling could wait forever.
          return inTurn(client, () => runRaw(second, ...statement))
        })
      const isSameFile = (await fileOf(second)) === path
      const close = () => connection.dispose()
      return { run: isSameFile ? run : runInTurn, close, isUsable: () => isUsable }
    })
  }
}

/** Runs the work in a transaction of the client, queued behind the app's transactions. */
async function inTurn<T>(
  client: PrismaClientLike,
  work: (transaction: RawClientLike) => Promise<T>,
): Promise<T> {
  // Always commits, even if the work fails: raw calls that the app makes meanwhile join this transaction and must not be undone.
  const [outcome] = await client.$transaction((transaction) => Promise.allSettled([work(transaction)]), {
    // The caller enforces the time limit.
    maxWait: LONGEST_TIMEOUT,
  })
  if (outcome.status === 'fulfilled') return outcome.value
  throw outcome.reason
}

/** The path of a client's database file; empty for an in-memory database. */
async function fileOf(client: RawClientLike): Promise<string> {
  // Not the function pragma_database_list, because a select reads the schema, and waits for a writer with the app's own patience.
  const rows = (await client.$queryRawUnsafe('pragma database_list')) as {
    name: string
    file: string | null
  }[]
  return rows.find(({ name }) => name === 'main')?.file ?? ''
}
