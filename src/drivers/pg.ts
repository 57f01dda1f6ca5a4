import type { Socket } from 'node:net'
import { time } from '../core/internal'
import { DriverError, NOT_REPLICATED, type SqlRow } from '../sql/internal'
import { opened } from './own-connection'
import type { DriverSession, RunStatement } from './sql-client'
import { nameOn, type Preparation } from './statement-names'

// Everything that is special about pg.

/** What this library uses of the protocol below a pg client. */
interface PgConnectionLike {
  readonly parsedStatements?: object
  readonly stream?: Partial<Socket>
  query?(text: string): void
  connect?(port: number | string | undefined, host?: string): void
  cancel?(processID: number, secretKey: unknown): void
  on?(event: 'connect' | 'error' | 'end', listener: () => void): unknown
}

/** What this library uses of a pg client. pg-native has no `connection`. */
export interface PgClientLike {
  readonly connection?: PgConnectionLike
  connect?(): Promise<unknown>
  readonly host?: string
  readonly port?: number
  /** What the server asks of those who cancel a statement. */
  readonly processID?: number | null
  readonly secretKey?: unknown
  /** Whether no statement is under way. */
  readonly readyForQuery?: boolean | null
  query(statement: string | { name?: string | undefined; text: string; values: unknown[] }): Promise<{
    rows: SqlRow[]
    rowCount: number | null
  }>
  /** I: none, T: in a transaction, E: in a failed one. */
  getTransactionStatus?(): string | null
  on?(event: 'notice' | 'error' | 'end', listener: (notice: { readonly routine?: unknown }) => void): unknown
  end?(): Promise<void>
}

/** What this library uses of a pool of pg. */
export interface PgPoolLike {
  readonly Client?: new (options: unknown) => PgClientLike
  readonly options?: { readonly onConnect?: (client: PgClientLike) => unknown }
}

/**
 * Ends a pg client. The pool drops a client that is ending, and a client that waits for an answer closes its socket at once, but with
 * the option `pipeline` not before the answer. As that leaves a transaction open, a pooler such as PgBouncer ends its own connection
 * too, which may lead to a standby. Its `begin` passes the client's queue, which waits until the server is ready: PostgreSQL sends that
 * apart from an error, and so perhaps later.
 */
export function endPgClient(connection: object): void {
  const client = connection as PgClientLike
  if (!client.end) return
  cancel(client)
  if (client.connection?.query) client.connection.query('begin')
  else client.query('begin').catch(() => undefined)
  client.end().catch(() => undefined)
  client.connection?.stream?.destroy?.()
}

/** In milliseconds: a host that is silent does not answer this either. */
const CANCELS_WITHIN = 1_000

/**
 * Asks the server to cancel the client's statement, by a connection of its own, as the protocol demands. Otherwise the server does not
 * notice that nobody is connected any more while the statement waits for a lock, and keeps its session until it gets the lock.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
function cancel({ connection, host, port, processID, secretKey, readyForQuery }: PgClientLike): void {
  if (!connection?.cancel || !processID || readyForQuery) return
  const canceling = new (connection.constructor as new () => PgConnectionLike)()
  const close = () => canceling.stream?.destroy?.()
  canceling.on?.('connect', () => canceling.cancel?.(processID, secretKey))
  canceling.on?.('end', close)
  canceling.on?.('error', close)
  if (host?.startsWith('/')) canceling.connect?.(`${host}/.s.PGSQL.${port}`)
  else canceling.connect?.(port, host)
  canceling.stream?.unref?.()
  time.after(CANCELS_WITHIN, close, false)
}

/**
 * Opens a session on a connection beside a pool, with the settings of that pool: passwords that are functions, TLS, sockets and hooks
 * included. pg hides the password, so its options are passed on as they are.
 */
export async function openPgClient(
  { Client, options }: PgPoolLike,
  preparation: Preparation,
): Promise<DriverSession> {
  const client = Client && new Client(options)
  if (!client || !isPgClient(client))
    throw new DriverError(undefined, 'this pool has no client of pg', false, true)
  const connect = async (): Promise<void> => {
    await client.connect?.()
    await options?.onConnect?.(client)
  }
  const wire = client.connection ?? {}
  const end = endPgClient.bind(undefined, client)
  const session = await opened(client, connect, { wire, close: () => client.end?.(), end })
  return { ...session, run: runOnPg.bind(undefined, client, preparation) }
}

/** Whether this is a client of pg, and not one of pg-native, or of a package that stands in for pg. */
export const isPgClient = (connection: object): boolean =>
  (connection as PgClientLike).connection?.parsedStatements !== undefined

/** Whether a transaction is open on the connection, if the driver knows. */
export const isInPgTransaction = (connection: object): boolean =>
  /[TE]/.test((connection as PgClientLike).getTransactionStatus?.() ?? '')

/**
 * Runs a statement that PostgreSQL prepares by name, and so plans only once per connection: planning is most of the cost of a refused
 * lock. A pooler that switches connections loses the names. After the first refusal no more names are sent.
 */
export async function runOnPg(
  connection: object,
  preparation: Preparation,
  ...[text, values, { parameters }]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  const client = connection as PgClientLike
  const commit = commits.get(client) ?? watched(client)
  commit.isUncertain = false
  // Only statements about a single lock are sent often.
  const isNamed = preparation.isOn && parameters.includes('name')
  const name = isNamed ? nameOn(client, text) : undefined
  try {
    const { rows, rowCount } = await client.query({ name, text, values })
    if (!(commit.isUncertain as boolean)) return { rows, changed: rowCount }
  } catch (error) {
    throw preparation.errorOf(error)
  }
  throw new DriverError(
    NOT_REPLICATED,
    'the wait for the synchronous standby was cancelled, so a failover may lose the row',
  )
}

/** Of the clients that are watched: whether a failover may lose the last commit. */
const commits = new WeakMap<object, { isUncertain: boolean }>()

/**
 * Watches a pg client for the warning that a statement was committed but not replicated. When
 * PostgreSQL's wait for the synchronous standby is cancelled, it reports success and only warns, although a failover would lose the
 * row. https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 */
function watched(client: PgClientLike): { isUncertain: boolean } {
  const commit = { isUncertain: false }
  commits.set(client, commit)
  // The message is in the server's language, so the notice is recognised by the routine that raised it.
  client.on?.('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') commit.isUncertain = true
  })
  return commit
}
