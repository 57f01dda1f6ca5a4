import { recogniseEveryCopy, type LockError } from '../core/internal'
import type { Sql, SqlValues } from './sql'

/** A row of a result: its values by the column names of the statement. */
export type SqlRow = Readonly<Record<string, unknown>>

/** What a client returns for one statement. */
export interface StatementResult {
  /** The rows that it read; empty if there were none. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /**
   * How many rows it changed; `null` or `undefined` if the client does not report it. If a lock depends on this number, its absence
   * is a `LockError` `INVALID_CLIENT`.
   */
  readonly changed?: number | bigint | null | undefined
}

/** The code for a statement that was not executed because it could not be prepared. It is sent again, on another session. */
export const NOT_PREPARED = 'NOT_PREPARED'
/** The code for a write that was committed, but that a failover may lose. */
export const NOT_REPLICATED = 'NOT_REPLICATED'

/** The code for a write that was executed in a transaction which the app has left open, so that it must be undone. */
export const JOINED_TRANSACTION = 'JOINED_TRANSACTION'

/** How statements reach one database. `sqlClient` of `shedlock-orm/drivers` creates one. */
export interface SqlClient {
  /**
   * The app's own client behind this one, such as its DataSource: all lock providers with the same one share how many of its sessions
   * they may end, and send one release at a time in the background. Default: this object.
   */
  readonly pool?: object | undefined
  /** The server's address as the app knows it, such as `db-1:5432`, for people who must not mistake one server for another. */
  readonly server?: string | undefined
  /**
   * Opens a session. Rejects with a `DriverError`, or with a `LockError` `INVALID_CLIENT` if the client cannot be used at all.
   */
  connect(): Promise<SqlSession>
  /**
   * Returns the schema, on MySQL and MariaDB the database, with which its connections begin, if it knows: an unnamed table is in it,
   * whatever the session of a connection says later.
   */
  readonly schema?: (() => string | undefined) | undefined
  /**
   * Called before an acquisition, before it connects, and when a statement got no answer.
   *
   * @returns why the client cannot answer any statement, if that is certain: the lock then fails with this error
   */
  readonly unusable?: (() => LockError | undefined) | undefined
  /**
   * Opens a connection beside the client's own pool, as a session whose `release` closes it. It rejects as `connect` does, and within
   * seconds. Absent: the client cannot, so locks use sessions of its pool.
   */
  readonly open?: (() => Promise<SqlSession>) | undefined
  /**
   * Returns what its connections have in common, such as their pool: once that is another one, they may lead to another database, and
   * older ones are not used any more.
   */
  readonly source?: (() => unknown) | undefined
  /** Whether its pool has room enough to keep one session while a lock is held. Default: no. */
  readonly keepsOne?: boolean | undefined
  /** Called if the server accepts no writes and the session has no `end`: removes such a connection from the client's pool. */
  readonly dropReadOnly?: (() => Promise<unknown>) | undefined
}

/** One connection, in autocommit, that no transaction of the app uses. It is released or ended, and not used afterwards, unless it rests. */
export interface SqlSession {
  /**
   * Runs a statement. Rejects with a `DriverError`, or a `LockError`.
   *
   * @param wants which part of the result is used
   */
  execute(statement: Sql, values: SqlValues, wants: keyof StatementResult): Promise<StatementResult>
  /** Returns the connection to its pool. Absent: the session owns no connection. */
  readonly release?: (() => unknown) | undefined
  /** Closes the connection, even while a statement is under way, so that its pool opens a new one. Absent: it cannot be closed. */
  readonly end?: (() => unknown) | undefined
  /** Called when it is idle: from then on, it does not keep the process alive. */
  readonly rest?: (() => unknown) | undefined
  /** Called before it is used again. @returns whether it is still open, as far as the driver knows */
  readonly wake?: (() => Promise<boolean>) | undefined
}

/** An error of the database's driver, with what matters for a lock: the server's code, and whether the statement was sent. */
export class DriverError extends Error {
  static {
    recogniseEveryCopy(this, 'DriverError')
  }

  override readonly name = 'DriverError'
  /** The server's own code as a string (`'40001'`, `'1213'`); `undefined` if no answer arrived, so that the outcome is unknown. */
  readonly code: string | undefined
  /** `false` if it is certain that the statement never reached the server, because there was no connection for it. */
  readonly sent: boolean

  /** Of a statement that was not sent: `true` if repeating it is useless, such as for a wrong password or a closed pool. */
  readonly lasts: boolean

  constructor(code: string | undefined, cause: unknown, sent = true, lasts = false) {
    // One line, so that a log shows the whole of it: Prisma's have several.
    super((cause instanceof Error ? cause.message : String(cause)).replace(/\s*\n\s*/g, ' '), { cause })
    this.code = code
    this.sent = sent
    this.lasts = lasts
  }
}
