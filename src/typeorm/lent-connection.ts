import { DriverError, type Attempt } from '../sql/internal'

// What becomes of a connection of the pool while a statement of ours runs on it.

/** What this library uses of a client of pg. */
interface PgClientLike {
  on?(event: 'notice', listener: (notice: { readonly routine?: unknown }) => void): unknown
  end?(): Promise<void>
}

/** pg's pool drops a client that is ending; one that waits for an answer closes its socket at once. */
export function endPgClient(client: PgClientLike): void {
  client.end?.().catch(() => undefined)
}

/** Of mysql2. */
export function destroyConnection(connection: { destroy?(): void }): void {
  connection.destroy?.()
}

/** Of oracledb: https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.close */
export function dropConnection(connection: { close?(options: object): Promise<void> }): void {
  connection.close?.({ drop: true }).catch(() => undefined)
}

/**
 * Waits for the answer to a statement until its attempt is abandoned: then the connection is ended, because it may be silent for good.
 *
 * @throws DriverError when the attempt was abandoned: nobody knows whether the statement was executed
 */
export async function untilAbandoned<T>(
  work: () => Promise<T>,
  attempt: Attempt | undefined,
  end: () => void,
): Promise<T> {
  if (!attempt) return work()
  if (attempt.isAbandoned) throw new DriverError(undefined, 'nobody waits for the answer any more', false)
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
 * PostgreSQL reports a commit as done, with a warning, when its wait for the synchronous standby is cancelled: a failover would lose
 * the row. https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 *
 * @throws DriverError after such a warning: nobody knows whether the statement will last
 */
export async function replicated<T>(client: PgClientLike, work: () => Promise<T>): Promise<T> {
  if (!watched.has(client)) {
    watched.add(client)
    // The text is in the server's language.
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
