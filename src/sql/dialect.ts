import type { AcquireStep, Pin } from './acquire'
import type { ErrorCodes } from './failures'
import type { Expressions, LockSql } from './expressions'
import type { Sql } from './sql'
import type { Identifiers, TableSql } from './names'

// A dialect: all that differs between databases, as data. Its parts: how it locks, all else about its table, and how its drivers report.

/** The databases that have a dialect. */
export type DialectName =
  'postgres' | 'cockroachdb' | 'mysql' | 'mariadb' | 'sqlite' | 'mssql' | 'oracle' | 'hana' | 'spanner'

/** How one database differs from the others. */
export interface Dialect extends LockDialect {
  readonly name: DialectName
  /** All else about its tables: how to create, check and describe them. */
  readonly table: TableDialect
  /** How its drivers write placeholders and report errors. */
  readonly driver: Driver
}

/** How one database locks: what its lock statements and their errors look like. Data only: no ORM, no I/O. */
export interface LockDialect extends Identifiers, Expressions, ErrorCodes {
  /** The tests have never run on such a server: its SQL follows the vendor's documentation. */
  readonly untried?: true

  /** The end of a `select` that reads no table, such as `from dual`. Default: none. */
  readonly from?: Sql

  /**
   * How to acquire a row, with a slot only if `locked_at` is before it: steps to try in order until one decides. A loser neither waits nor
   * writes.
   */
  readonly acquire: (lock: LockSql) => readonly AcquireStep[]

  /**
   * Returns a row unless another session has locked that of the lock, if an update of such a row changes nothing. Default: it fails.
   */
  readonly rowIfUnlocked?: ((lock: LockSql) => Sql) | undefined

  /**
   * Adds to a write a query for how many rows it `changed`, where triggers or settings can falsify the client's count. The steps of
   * `acquire` do not need it.
   */
  readonly counted?: ((write: Sql) => Sql) | undefined

  /** The code of an error that the server answers only in a session with an open transaction. */
  readonly inTransactionError?: string | undefined

  /** How a transaction keeps other sessions from changing the lock's row until it ends. */
  readonly pin: (lock: LockSql) => Pin
}

/** What one database needs for a lock table, apart from locking: how to create, check and describe it. */
export interface TableDialect {
  /** Whether the database has `if exists` and `if not exists`, so that the migration may run again. */
  readonly conditional: boolean
  /** Makes `create table if not exists` succeed in several sessions at the same time, if it does not by itself. */
  readonly createTogether?: (createTable: string) => string
  /** Creates a schema unless it exists, if the database has schemas. */
  readonly createSchema?: (schema: string) => string
  /** Returns the type of a column for strings of at most so many characters. */
  readonly text: (length: number) => string
  /** The type of a column for times. */
  readonly time: string
  /** Set if the server invents a name for an unnamed primary key. */
  readonly namedPrimaryKey?: true
  /** Set if the primary key comes after the closing parenthesis of `create table`. */
  readonly primaryKeyAfterColumns?: true
  /** What comes after the closing parenthesis of `create table`. */
  readonly tableOptions?: string
  /** The collation under which only identical strings are equal, if that is not the default. */
  readonly collation?: string
  /** What the schema is for `describe` if none is named. Default: null. */
  readonly defaultSchema?: string
  /**
   * Reads the columns of the table as rows of `column_name` and `column_type`; and, if it can, `max_length` in characters,
   * `nullable` (1 or 0), `unique_keys` (how many unique indexes are on this column alone), `on_update` (1: each update of the row
   * changes it) and `table_schema` (if an unnamed schema can be one of
   * several). Binds `schema` and `table`. Default, where no catalogue was ever read: each column is selected, and nothing else is
   * known of it.
   */
  readonly describe?: Sql
  /**
   * Reads what the table is and what others added to it, as far as it may affect locks: rows of `what`, a key of `OBSTACLES`, and
   * `name`. Binds as `describe` does.
   */
  readonly obstacles?: Sql
  /**
   * Returns a row if a lock on the whole table, which another session has or waits for, would make a lock statement wait, if the statement
   * itself cannot limit how long. Binds as `describe` does.
   */
  readonly lockedByOthers?: Sql
  /** Without `describe`: the native codes of errors for a table or a column that does not exist. */
  readonly absent?: readonly string[]
  /** The types with which the lock is correct; with any other, two callers could hold it. */
  readonly types?: { readonly text: RegExp; readonly time: RegExp } | undefined
  /** Types that are correct only under a condition. */
  readonly doubtfulType?: { readonly pattern: RegExp; readonly why: string }

  /** The database of this connection, if a database contains schemas; of SQLite the file. */
  readonly database?: Sql
  /** The schema in which a connection like this one creates a table as long as the app has set nothing in its session, if none is named. */
  readonly schema?: Sql
  /** The schema in which this session creates a table, if that can be another one. */
  readonly sessionSchema?: Sql
  /** The user of this connection, as `grant … to` expects it. */
  readonly grantee?: Sql
  /** The native codes of errors for a missing privilege. */
  readonly denied: readonly string[]
  /** If the only privilege is to write a file, and only a write shows it. */
  readonly fileAccess?: {
    /** Writes, but changes no data. */
    readonly write: (table: TableSql) => Sql
    /** Matches the message of its error if this user may not write; other errors do not matter. */
    readonly refused: RegExp
    readonly advice: string
  }
  /** Reads the `engine` of the table, if some engines have no transactions. Binds as `describe` does. */
  readonly engineOf?: Sql
  /** Reads whether this session has a transaction open that has locked a row: `is_open`. */
  readonly isInTransaction?: Sql
  /** Does nothing, but fails in a transaction, without ending it: for servers of which that cannot be read. */
  readonly failsInTransaction?: Sql
  /** Settings of the server or the session that affect locks. */
  readonly settings?: readonly {
    readonly name: string
    /** Reads one row; the value is in its last column. */
    readonly read: Sql
    readonly wrong: RegExp
    readonly severity: 'error' | 'warning'
    /** How it affects locks, and what to do. */
    readonly message: string
    /** The SQL that changes the setting, for the user of this connection, if SQL can. */
    readonly fix?: (grantee: string) => string
  }[]
}

/** Of a setting: the server, or a limit of its user, has room for few connections besides those in use. */
export const FEW_CONNECTIONS = {
  name: 'connections',
  wrong: /^few left/,
  severity: 'warning',
  message:
    "the server has room for few more connections: the locks of each process open one or two beside the app's pool, at most ownConnections, and use that pool if there is no room – raise the limit, or set ownConnections: 0",
} as const

/** How a database driver writes placeholders and reports errors, whichever client is on top of it. */
export interface Driver {
  /** Returns the placeholder for the value at this position, counted from 0. */
  readonly placeholder: (position: number) => string
  /**
   * Writes a string that is not ASCII in ASCII, because a bound string depends on the session's character set. Default: it is bound
   * as it is.
   *
   * @param placeholder the placeholder at which its value would be bound
   * @returns SQL that can be written in any character set, and the value to bind in it, if there is one
   */
  readonly inAscii?:
    ((text: string, placeholder: string) => { readonly sql: string; readonly value?: string }) | undefined
  /**
   * Writes settings into a statement that hold for it alone: how long the server may wait for a lock on its table, such as that of a
   * migration, and that it returns all rows. Default: the session's settings hold.
   */
  readonly settled?: ((text: string) => string) | undefined
  /** Converts a row that the driver returned. Default: it stays. */
  readonly read?: ((row: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>) | undefined
  /**
   * Returns the server's code for an error of this driver, as a string.
   *
   * @returns `undefined` if the error is not an answer of the server, or leaves open whether the statement was executed
   */
  readonly errorCode: (error: object) => string | undefined
  /** Returns whether an error of this driver proves that there was no connection, so that no statement was sent. */
  readonly notSent: (error: object) => boolean
  /** Returns whether such an error remains, however often the statement is repeated: a closed pool, a wrong host or password. */
  readonly lasts: (error: object) => boolean
}
