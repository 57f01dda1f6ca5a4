import { DriverError, type Attempt } from '../sql/internal'

// What can go wrong on a pooled connection while one statement runs on it: no answer, or a commit that is not replicated.

/** What this library uses of a pg client. */
interface PgClientLike {
  on?(event: 'notice', listener: (notice: { readonly routine?: unknown }) => void): unknown
  end?(): Promise<void>
}

/** Ends a pg client. The pool drops a client that is ending, and a client that waits for an answer closes its socket at once. */
export function endPgClient(client: PgClientLike): void {
  client.end?.().catch(() => undefined)
}

/** Ends a mysql2 connection. */
export function destroyConnection(connection: { destroy?(): void }): void {
  connection.destroy?.()
}

/** Ends an oracledb connection: https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.close */
export function dropConnection(connection: { close?(options: object): Promise<void> }): void {
  connection.close?.({ drop: true }).catch(() => undefined)
}

/**
 * Waits for the answer to a statement. If the attempt is abandoned first, the connection may never answer again, so `end` is called.
 *
 * @throws DriverError when the attempt was abandoned. If the statement had been sent, it is unknown whether the server executed it
 */
export async function untilAbandoned<T>(
  work: () => Promise<T>,
  attempt: Attempt | undefined,
  end: () => void,
): Promise<T> {
  if (!attempt) return work()
  if (attempt.isAbandoned)
    throw new DriverError(undefined, 'the attempt was abandoned before the statement was sent', false)
  try {
    return await new Promise<T>((resolve, reject) => {
      attempt.onAbandoned = () => {
        end()
        reject(new DriverError(undefined, 'the attempt was abandoned'))
      }
      work().then(resolve, reject)
    })
  } finally {
    attempt.onAbandoned = undefined
  }
}

const watched = new WeakSet<object>()
const uncertain = new WeakSet<object>()

/**
 * Runs a statement and rejects if its commit was not replicated. When PostgreSQL's wait for the synchronous standby is cancelled, it
 * reports success and only warns, although a failover would lose the row.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 *
 * @throws DriverError after such a warning: it is unknown whether the statement's effect will survive a failover
 */
export async function replicated<T>(client: PgClientLike, work: () => Promise<T>): Promise<T> {
  if (!watched.has(client)) {
    watched.add(client)
    // The message is in the server's language, so the notice is recognised by the routine that raised it.
    client.on?.('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') uncertain.add(client)
    })
  }
  uncertain.delete(client)
  const answer = await work()
  if (!uncertain.delete(client)) return answer
  throw new DriverError(
    undefined,
    'the wait for the synchronous standby was cancelled, so a failover may lose the row',
  )
}
