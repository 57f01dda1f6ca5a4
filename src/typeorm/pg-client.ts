import type { Socket } from 'node:net'
import { time } from '../core/internal'
import { nameAmong } from '../drivers/internal'
import { DriverError, NOT_REPLICATED, type SqlRow } from '../sql/internal'
import type { QueryRunnerLike } from './data-source-like'
import { Preparation, runText, type DriverConnection } from './run-statement'

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

/** What this library uses of a pg client. Aurora's Data API has none of it; pg-native has no `parsedStatements`. */
interface PgClientLike {
  readonly connection?: PgConnectionLike
  readonly host?: string
  readonly port?: number
  /** What the server asks of those who cancel a statement. */
  readonly processID?: number | null
  readonly secretKey?: unknown
  /** Whether no statement is under way. */
  readonly readyForQuery?: boolean | null
  query(statement: 'begin' | { name: string; text: string; values: unknown[] }): Promise<{
    rows: SqlRow[]
    rowCount: number | null
  }>
  /** I: none, T: in a transaction, E: in a failed one. */
  getTransactionStatus?(): string | null
  on?(event: 'notice', listener: (notice: { readonly routine?: unknown }) => void): unknown
  end?(): Promise<void>
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

/** What this library uses of TypeORM's driver: pg's pool, and its clients, which pg does not document. */
interface PgDriverLike {
  readonly master?: {
    readonly _clients?: readonly Pick<PgClientLike, 'connection'>[]
  }
}

/** When each connection that a lock has made the pool open began, on the monotonic clock. */
const openedAt = new WeakMap<Partial<Socket>, number>()
/** In milliseconds. TCP repeats a lost request after a second. */
const CONNECTS_WITHIN = 2_000

/** Borrows a connection, and notes which one the pool opens for that, if it opens one. */
function connect(driver: unknown, queryRunner: QueryRunnerLike): Promise<unknown> {
  const { _clients: clients = [] } = (driver as PgDriverLike).master ?? {}
  let count = clients.length
  const connected = queryRunner.connect()
  // The pool has begun to open it, and has added its client.
  for (; count < clients.length; count++) {
    const socket = clients[count]?.connection?.stream
    if (socket) openedAt.set(socket, time.now())
  }
  return connected
}

/**
 * Drops the clients that the pool has been opening for a lock, and whose host has not accepted the connection for seconds: unless
 * `connectTimeoutMS` is set, they occupy the pool until TCP gives up, after two minutes. Those that it opens for the app stay.
 */
function dropUnaccepted(driver: unknown): void {
  for (const { connection } of (driver as PgDriverLike).master?._clients ?? []) {
    const socket = connection?.stream
    if (socket?.connecting && time.now() - (openedAt.get(socket) ?? Infinity) >= CONNECTS_WITHIN)
      socket.destroy?.(new Error('the host did not accept the connection in time'))
  }
}

/**
 * Runs statements that PostgreSQL prepares by name, and so plans only once per connection: planning is most of the cost of a refused
 * lock. A pooler that switches connections loses the names. After the first refusal no more names are sent.
 *
 * @param named must be false inside a transaction, which a refused name would abort
 */
export function pgConnection(named: boolean): DriverConnection {
  const preparation = new Preparation(
    named,
    (reason) =>
      `shedlock-orm sends its statements without names from now on, because a prepared one was refused: ${reason} – behind a pooler set namedStatements: false.`,
  )
  return {
    end: endPgClient,
    connect,
    isInTransaction: (connection) => /[TE]/.test((connection as PgClientLike).getTransactionStatus?.() ?? ''),
    dropUnaccepted,
    async run(on, text, values, { parameters }) {
      const client = on.connection as PgClientLike
      const state = stateOf(client)
      state.isUncertain = false
      // Only statements about a single lock are sent often.
      const isNamed =
        preparation.isOn && parameters.includes('name') && client.connection?.parsedStatements !== undefined
      const name = isNamed ? nameAmong(state.names, text) : undefined
      const result =
        name === undefined
          ? await runText(on.queryRunner, text, values)
          : await preparation.run(on, text, values, async () => {
              const { rows, rowCount } = await client.query({ name, text, values })
              return { rows, changed: rowCount }
            })
      if (!(state.isUncertain as boolean)) return result
      throw new DriverError(
        NOT_REPLICATED,
        'the wait for the synchronous standby was cancelled, so a failover may lose the row',
      )
    },
  }
}

interface ClientState {
  /** The names of its prepared statements: all providers share them, so that their number is limited for all tables. */
  readonly names: Map<string, string>
  /** Whether a failover may lose its last commit. */
  isUncertain: boolean
}

const states = new WeakMap<object, ClientState>()

/**
 * Returns what is known about a pg client, and watches for the warning that a statement was committed but not replicated. When
 * PostgreSQL's wait for the synchronous standby is cancelled, it reports success and only warns, although a failover would lose the
 * row. https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA
 */
function stateOf(client: PgClientLike): ClientState {
  const known = states.get(client)
  if (known) return known
  const state = { names: new Map<string, string>(), isUncertain: false }
  states.set(client, state)
  // The message is in the server's language, so the notice is recognised by the routine that raised it.
  client.on?.('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') state.isUncertain = true
  })
  return state
}
