import type { Statement } from './statement'

/** The databases that have a dialect. */
export type DialectName =
  'postgres' | 'cockroachdb' | 'mysql' | 'mariadb' | 'sqlite' | 'mssql' | 'oracle' | 'hana' | 'spanner'

/** The roles of the lock table's four columns. */
export type LockColumn = 'name' | 'lockUntil' | 'lockedAt' | 'lockedBy'

/**
 * The names of the columns. Default: `name`, `lock_until`, `locked_at`, `locked_by`, which are ShedLock's own; in upper
 * case on Oracle and SAP HANA.
 */
export type LockColumnNames = Readonly<Record<LockColumn, string>>

/** Names the lock table, for provider, entity, migration, model and command line alike. */
export interface LockTableOptions {
  /** The table's schema. Default: the one that the connection uses. */
  readonly schema?: string | undefined
  /** The table's name. Default `shedlock` (on Oracle and SAP HANA `SHEDLOCK`). */
  readonly tableName?: string | undefined
  /** Other names for some or all columns. Default: ShedLock's own, see `LockColumnNames`. */
  readonly columnNames?: Partial<LockColumnNames> | undefined
}

/** The names with defaults filled in. */
export interface LockTableNames extends LockTableOptions {
  readonly tableName: string
  readonly columnNames: LockColumnNames
}

/** The identifiers of one lock table, quoted for one dialect. */
export interface LockTable extends Readonly<Record<LockColumn, Statement>> {
  readonly names: LockTableNames
  readonly table: Statement
}

/** What an attempt to acquire a lock came to. */
export type AcquireOutcome = 'acquired' | 'held' | 'already-run' | 'slot-too-far-ahead'

/**
 * One statement on the way to a lock, and what its answer tells:
 *
 * - `refusal` a read: a row refuses the lock, and has the `outcome` (`held` without one); no row, or `free`, tells nothing
 * - `acquired` a write: if it changed a row, the lock is acquired; if not, that tells nothing
 * - `acquired or held` a write: if it changed no row, it saw the row held
 * - `outcome` a row with the `outcome`; `free` if somebody else was faster
 */
export interface AcquireStep {
  readonly tells: 'refusal' | 'acquired' | 'acquired or held' | 'outcome'
  readonly statement: Statement
}

/** Finds (`read`) or changes (`write`) one row if the lock is ours and its lease not over, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Statement
}

/** What one database needs said differently. Data only: no ORM, no I/O. */
export interface Dialect {
  readonly name: DialectName

  /** Quotes an identifier, whatever is in it. */
  quote(identifier: string): string
  /** In bytes. */
  readonly longestIdentifier: number
  /** What this database cannot have in an identifier, not even quoted; control characters aside. */
  readonly notInIdentifiers?: RegExp
  /** Names without quotes are upper case here, and so are our default names: a table made by plain SQL is found. */
  readonly upperCaseNames?: true
  /** What `describe` uses for the schema where none is named; default: null, bound. */
  readonly defaultSchema?: Statement

  /** The database's clock when the row is written, as zone-less UTC, cut (not rounded) to milliseconds. */
  readonly now: Statement
  /** A point in time some milliseconds after another, as zone-less UTC. */
  plus(time: Statement, milliseconds: Statement): Statement
  /** The beginning of 1970 as zone-less UTC. */
  readonly epoch: Statement
  /** A point in time as whole milliseconds since 1970, cut to what a `Date` can be; null, or before 1970, for what is no time. */
  epochMilliseconds(time: Statement): Statement
  /** A bound text with the type that the database cannot guess. */
  text(parameter: Statement): Statement

  /** How to acquire a row: steps that are tried in their order until one tells. A loser waits for nobody, and writes nothing. */
  readonly acquire: (dialect: Dialect, table: LockTable, slot: boolean) => readonly AcquireStep[]

  /** How a release is written where it is cheaper that it need not survive a crash: the lease ends by itself. Default: an update. */
  readonly release?:
    ((table: Statement, assignment: Statement, condition: Statement) => Statement) | undefined

  /**
   * A write followed by a query of how many rows it `changed`, where triggers or settings can falsify the client's count. The
   * statements of `acquire` say it by themselves.
   */
  readonly counted?: ((write: Statement) => Statement) | undefined

  /** How a transaction keeps everybody else from changing the lock's row until it ends. */
  readonly pin: (dialect: Dialect, table: LockTable) => Pin

  /**
   * The native codes of errors after which a statement is tried again, with their meaning: somebody else was faster, or something
   * is in the way, such as a lock on the table, and nothing was changed.
   */
  readonly transientErrors: Readonly<Record<string, string>>

  readonly ddl: {
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
    /** The same for the name's column, where its key has to go for it, and come back under this name. */
    readonly alterKey?: (table: string, column: string, type: string, key: string) => readonly string[]
    /** Adds a column with a value for the rows that are there, where `alter table … add …` is said differently. */
    readonly addColumn?: (table: string, column: string, type: string, value: string) => string
    /** Makes a schema unless it is there, where the database has schemas. */
    readonly createSchema?: (schema: string) => string
  }

  /**
   * Finds the columns of the table as rows of `column_name` and `column_type`; and, where it can, `max_length` in
   * characters, `nullable` (1 or 0), `unique_keys` (how many unique indexes are on this column alone), `autocommit` (0:
   * this session does not commit by itself) and `table_schema` (where an unnamed schema was looked for in several). Binds
   * `schema` and `table`.
   */
  readonly describe: (schema: Statement, table: Statement) => Statement
  /** The types under which the lock is right; a wrong one could let two hold it. */
  readonly types: { readonly text: RegExp; readonly time: RegExp }
  /** Types that are right under a condition. */
  readonly doubtfulType?: { readonly pattern: RegExp; readonly why: string }

  /** What the inspection of a table reads from this database; a lock needs none of it. */
  readonly inspection?: {
    /** What a `select` without a table has to end with. */
    readonly from?: Statement
    /** The database of this connection, where schemas are inside of one. */
    readonly database?: Statement
    /** The schema in which this connection makes a table without one. */
    readonly schema?: Statement
    /** The user of this connection, as `grant … to` wants it. */
    readonly grantee?: Statement
    /** For columns that the server converts with the time zone of the session. */
    readonly timeZone?: {
      /** Their types. */
      readonly types: RegExp
      /** The zone of this session. */
      readonly value: Statement
      /** Sets the same zone in another session. */
      readonly set: (zone: string) => string
    }
    /** The native codes for a missing privilege. */
    readonly denied: readonly string[]
    /** The number of the server's session: when two connections at one time have the same, a pooler is between. */
    readonly session?: Statement
    /** Settings of the server or the session that affect locks. */
    readonly settings?: readonly {
      readonly name: string
      /** Reads one row, with the value in its last column. */
      readonly read: Statement
      readonly wrong: RegExp
      readonly severity: 'error' | 'warning'
      /** What it does to locks, and what to do. */
      readonly message: string
      /** The SQL that changes it, for the user of this connection, where SQL can. */
      readonly fix?: (grantee: string) => string
    }[]
  }
}
