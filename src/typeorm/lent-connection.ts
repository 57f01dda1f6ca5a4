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
 * The caller must reset `attempt.onAbandoned` before it returns the connection to the pool.
 *
 * @throws DriverError when the attempt was abandoned. If the statement had been sent, it is unknown whether the server executed it
 */
export function untilAbandoned<T>(
  work: () => Promise<T>,
  attempt: Attempt | undefined,
  end: () => void,
): Promise<T> {
  if (!attempt) return work()
  if (attempt.isAbandoned)
    return Promise.reject(
      new DriverError(undefined, 'the attempt was abandoned before the statement was sent', false),
    )
  return new Promise<T>((resolve, reject) => {
    attempt.onAbandoned = () => {
      end()
      reject(new DriverError(undefined, 'the attempt was abandoned'))
    }
    work().then(resolve, reject)
  })
}

/** For each pg client that was lent, whether a failover may lose its last commit. */
const clients = new WeakMap<object, { isUncertain: boolean }>()

/**
 * Watches for the warning that a statement was committed but not replicated. When PostgreSQL's wait for the synchronous standby is
 * cancelled, it reports success and only warns, although a failover would lose the row.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 *
 * @returns a function to be called after the statement, which throws a DriverError after such a warning
 */
export function watchReplication(client: PgClientLike): () => void {
  const commit = clients.get(client) ?? { isUncertain: false }
  if (!clients.has(client)) {
    clients.set(client, commit)
    // The message is in the server's language, so the notice is recognised by the routine that raised it.
    client.on?.('notice', ({ routine }) => {
      if (routine === 'SyncRepWaitForLSN') commit.isUncertain = true
    })
  }
  commit.isUncertain = false
  return () => {
    if (commit.isUncertain)
      throw new DriverError(
        undefined,
        'the wait for the synchronous standby was cancelled, so a failover may lose the row',
      )
  }
}
