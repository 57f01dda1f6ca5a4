import { LONGEST_TIMEOUT } from '../core'
import { idleConnection } from '../sql'
import { nativeCode } from './native-code'
import { internals, type PrismaClientLike, type RawClientLike } from './prisma-client-like'
import type { UseClient } from './prisma-sql-executor'
import { fileOf, secondConnection, type SecondConnection } from './sqlite-connection'

/**
 * With these adapters a raw call is never part of a transaction of the app. libsql lets it wait until there is none open
 * (in memory it cannot have any); D1 has no transactions.
 */
const RUNS_ALONE = /^@prisma\/adapter-(libsql|d1|d1-http)$/
/** Whoever asks for the lock has its own time limit, and cleans up after it. */
const NO_LIMIT = LONGEST_TIMEOUT

/**
 * SQLite in Prisma has one connection for everything: with better-sqlite3 a raw call becomes part of whatever interactive
 * transaction the app has open, and vanishes with its rollback. A file is therefore opened a second time, by the
 * client's own adapter. What lives in memory has no second connection: there each statement is a transaction of its
 * own, which waits for those of the app.
 */
export function sqliteClient(client: PrismaClientLike): UseClient {
  const adapter = internals(client)._engineConfig?.adapter
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

/** Runs behind the app's transactions, in the order of asking. */
async function inTurn<T>(
  client: PrismaClientLike,
  work: (transaction: RawClientLike) => Promise<T>,
): Promise<T> {
  // Commits whatever happens: raw calls that the app makes meanwhile are part of this transaction.
  const [outcome] = await client.$transaction((transaction) => Promise.allSettled([work(transaction)]), {
    maxWait: NO_LIMIT,
  })
  if (outcome.status === 'fulfilled') return outcome.value
  throw outcome.reason
}
