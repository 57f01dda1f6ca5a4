import type { AcquireStep } from './acquire'
import type { ErrorCodes } from './calls'
import type { Expressions } from './expressions'
import type { Pin } from './pin'
import type { Sql } from './sql'
import type { Identifiers, TableSql } from './table-names'

/** The databases that have a dialect. */
export type DialectName =
  'postgres' | 'cockroachdb' | 'mysql' | 'mariadb' | 'sqlite' | 'mssql' | 'oracle' | 'hana' | 'spanner'

/** What one database needs said differently. Data only: no ORM, no I/O. */
export interface Dialect extends Identifiers, Expressions, ErrorCodes {
  readonly name: DialectName

  /** How to acquire a row: steps that are tried in their order until one decides. A loser waits for nobody, and writes nothing. */
  readonly acquire: (dialect: Expressions, table: TableSql, slot: boolean) => readonly AcquireStep[]

  /** How a release is written where it is cheaper that it need not survive a crash: the lease ends by itself. Default: an update. */
  readonly release?: ((table: Sql, assignment: Sql, condition: Sql) => Sql) | undefined

  /**
   * A write followed by a query of how many rows it `changed`, where triggers or settings can falsify the client's count. The
   * statements of `acquire` say it by themselves.
   */
  readonly counted?: ((write: Sql) => Sql) | undefined

  /** How a transaction keeps everybody else from changing the lock's row until it ends. */
  readonly pin: (dialect: Expressions, table: TableSql) => Pin

  // A lock needs none of the following.

  readonly ddl: TableDdl
  readonly shape: TableShape
  readonly inspection?: Inspection
}

/** How one database creates and changes a lock table. */
export interface TableDdl {
  /** Whether the database has `if exists` and `if not exists`: then the migration may run again. */
  readonly conditional: boolean
  /** Makes `create table if not exists` succeed for several sessions at the same time, where it does not by itself. */
  readonly createTogether?: ((createTable: string) => string) | undefined
  /** The type of a column for texts of at most so many characters. */
  readonly text: (length: number) => string
  /** The type of a column for times. */
  readonly time: string
  /** Set where the server makes up a name for an unnamed primary key. */
  readonly namedPrimaryKey?: boolean
  /** Set where the primary key comes after the closing parenthesis of `create table`. */
  readonly primaryKeyAfterColumns?: true
  /** What comes after the closing parenthesis of `create table`. */
  readonly tableOptions?: string
  /** The collation under which texts are equal only when they are the same, where that is not the default. */
  readonly collation?: string
  /** Gives a column its type, and no nulls, whatever it was before; absent where a table must be made anew for that. */
  readonly alterColumn?: (
    table: string,
    column: string,
    type: string,
    before: { readonly type: string; readonly nullable: boolean },
  ) => string
  /** The same for the name's column, where its key has to go for it, and come back: as the primary key, or as an index. */
  readonly alterKey?: (
    table: string,
    column: string,
    type: string,
    names: { readonly primaryKey: string; readonly index: string },
  ) => readonly string[]
  /** Adds a column with a value for the rows that are there, where `alter table … add …` is said differently. */
  readonly addColumn?: (table: string, column: string, type: string, value: string) => string
  /** Makes a schema unless it is there, where the database has schemas. */
  readonly createSchema?: (schema: string) => string
}

/** What a lock table must be like in one database, and how to read what it is like. */
export interface TableShape {
  /** What `describe` uses for the schema where none is named; default: null, bound. */
  readonly defaultSchema?: Sql
  /**
   * Finds the columns of the table as rows of `column_name` and `column_type`; and, where it can, `max_length` in
   * characters, `nullable` (1 or 0), `unique_keys` (how many unique indexes are on this column alone), `autocommit` (0:
   * this session does not commit by itself) and `table_schema` (where an unnamed schema was looked for in several). Binds
   * `schema` and `table`.
   */
  readonly describe: (schema: Sql, table: Sql) => Sql
  /** Finds the schemas in which this user sees such a table, as rows of `table_schema`, where schemas are inside of a database. */
  readonly schemasOf?: ((table: Sql) => Sql) | undefined
  /** The types under which the lock is right; a wrong one could let two hold it. */
  readonly types: { readonly text: RegExp; readonly time: RegExp }
  /** Types that are right under a condition. */
  readonly doubtfulType?: { readonly pattern: RegExp; readonly why: string }
}

/** What the inspection of a table reads from one database. */
export interface Inspection {
  /** What a `select` without a table has to end with. */
  readonly from?: Sql
  /** The database of this connection, where schemas are inside of one. */
  readonly database?: Sql
  /** The schema in which this connection makes a table without one. */
  readonly schema?: Sql
  /** The user of this connection, as `grant … to` wants it. */
  readonly grantee?: Sql
  /** For columns that the server converts with the time zone of the session. */
  readonly timeZone?: {
    /** Their types. */
    readonly types: RegExp
    /** The zone of this session. */
    readonly value: Sql
    /** Sets the same zone in another session. */
    readonly set: (zone: string) => string
  }
  /** The native codes for a missing privilege. */
  readonly denied: readonly string[]
  /** The number of the server's session: when two connections at one time have the same, a pooler is between. */
  readonly session?: Sql
  /** Settings of the server or the session that affect locks. */
  readonly settings?: readonly {
    readonly name: string
    /** Reads one row, with the value in its last column. */
    readonly read: Sql
    readonly wrong: RegExp
    readonly severity: 'error' | 'warning'
    /** What it does to locks, and what to do. */
    readonly message: string
    /** The SQL that changes it, for the user of this connection, where SQL can. */
    readonly fix?: (grantee: string) => string
  }[]
}
