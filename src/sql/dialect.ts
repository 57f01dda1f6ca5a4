import type { AcquireStep } from './acquire'
import type { ErrorCodes } from './calls'
import type { Expressions, LockSql } from './expressions'
import type { Pin } from './pin'
import type { Sql } from './sql'
import type { Identifiers } from './table-names'

/** The databases that have a dialect. */
export type DialectName =
  'postgres' | 'cockroachdb' | 'mysql' | 'mariadb' | 'sqlite' | 'mssql' | 'oracle' | 'hana' | 'spanner'

/** How one database differs from the others. Data only: no ORM, no I/O. */
export interface Dialect extends Identifiers, Expressions, ErrorCodes {
  readonly name: DialectName

  /** How to acquire a row: steps to try in order until one decides. A loser neither waits nor writes. */
  readonly acquire: (dialect: Expressions, lock: LockSql) => readonly AcquireStep[]

  /** The same for a lock with a slot: only if `locked_at` is before the slot. */
  readonly acquireSlot: (dialect: Expressions, lock: LockSql) => readonly AcquireStep[]

  /**
   * How to write a release more cheaply if it need not survive a crash: without it, the lease ends by itself. Default: an update.
   */
  readonly release?: ((table: Sql, assignment: Sql, condition: Sql) => Sql) | undefined

  /**
   * Adds to a write a query for how many rows it `changed`, where triggers or settings can falsify the client's count. The steps of
   * `acquire` do not need it.
   */
  readonly counted?: ((write: Sql) => Sql) | undefined

  /** How a transaction keeps other sessions from changing the lock's row until it ends. */
  readonly pin: (lock: LockSql) => Pin

  // The lock itself needs none of the following.

  readonly ddl: TableDdl
  readonly shape: TableShape
  readonly inspection?: Inspection
}

/** How one database creates and changes a lock table. */
export interface TableDdl {
  /** Whether the database has `if exists` and `if not exists`, so that the migration may run again. */
  readonly conditional: boolean
  /** Makes `create table if not exists` succeed in several sessions at the same time, if it does not by itself. */
  readonly createTogether?: ((createTable: string) => string) | undefined
  /** Returns the type of a column for strings of at most so many characters. */
  readonly text: (length: number) => string
  /** The type of a column for times. */
  readonly time: string
  /** Set if the server invents a name for an unnamed primary key. */
  readonly namedPrimaryKey?: boolean
  /** Set if the primary key comes after the closing parenthesis of `create table`. */
  readonly primaryKeyAfterColumns?: true
  /** What comes after the closing parenthesis of `create table`. */
  readonly tableOptions?: string
  /** The collation under which only identical strings are equal, if that is not the default. */
  readonly collation?: string
  /** Gives a column its type and makes it `not null`, whatever it was before; absent if that requires a new table. */
  readonly alterColumn?: (
    table: string,
    column: string,
    type: string,
    before: { readonly type: string; readonly nullable: boolean },
  ) => string
  /** The same for the name's column, if its key must be dropped first and created again: as the primary key, or as an index. */
  readonly alterKey?: (
    table: string,
    column: string,
    type: string,
    names: { readonly primaryKey: string; readonly index: string },
  ) => readonly string[]
  /** Adds a column with a value for existing rows, if the syntax is not `alter table … add …`. */
  readonly addColumn?: (table: string, column: string, type: string, value: string) => string
  /** Creates a schema unless it exists, if the database has schemas. */
  readonly createSchema?: (schema: string) => string
}

/** Which columns a lock table needs in one database, and how to read those that it has. */
export interface TableShape {
  /** What `describe` uses as the schema if none is named. Default: a bound null. */
  readonly defaultSchema?: Sql
  /**
   * Reads the columns of the table as rows of `column_name` and `column_type`; and, if it can, `max_length` in characters,
   * `nullable` (1 or 0), `unique_keys` (how many unique indexes are on this column alone), `autocommit` (0: this session does not
   * commit by itself) and `table_schema` (if an unnamed schema can be one of several). Binds `schema` and `table`.
   */
  readonly describe: (schema: Sql, table: Sql) => Sql
  /** Finds the schemas in which this user sees such a table, as rows of `table_schema`, if a database contains schemas. */
  readonly schemasOf?: ((table: Sql) => Sql) | undefined
  /** The types with which the lock is correct; with any other, two callers could hold it. */
  readonly types: { readonly text: RegExp; readonly time: RegExp }
  /** Types that are correct only under a condition. */
  readonly doubtfulType?: { readonly pattern: RegExp; readonly why: string }
}

/** What the inspection of a table reads from one database. */
export interface Inspection {
  /** The end of a `select` that reads no table, such as `from dual`. */
  readonly from?: Sql
  /** The server's own name or address as a string, or the file of the database. Null if it reports none. */
  readonly server?: Sql
  /** The database of this connection, if a database contains schemas. */
  readonly database?: Sql
  /** The schema in which this connection creates a table if none is named. */
  readonly schema?: Sql
  /** The user of this connection, as `grant … to` expects it. */
  readonly grantee?: Sql
  /** For columns that the server converts with the session's time zone. */
  readonly timeZone?: {
    /** Their types. */
    readonly types: RegExp
    /** The time zone of this session. */
    readonly value: Sql
    /** Sets the same time zone in another session. */
    readonly set: (zone: string) => string
  }
  /** The native codes of errors for a missing privilege. */
  readonly denied: readonly string[]
  /** The number of the server's session. If two simultaneous connections have the same one, there is a pooler in between. */
  readonly session?: Sql
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
