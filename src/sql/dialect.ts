import type { Identifiers, LockTable } from './lock-table'
import type { Statement } from './statement'

/** The databases that have a dialect. */
export type DialectName =
  'postgres' | 'cockroachdb' | 'mysql' | 'mariadb' | 'sqlite' | 'mssql' | 'oracle' | 'hana' | 'spanner'

/** The roles of the lock table's four columns. */
export type LockColumn = 'name' | 'lockUntil' | 'lockedAt' | 'lockedBy'

/** What a step saw or did. `ahead`: the slot is too far in the future. `free`: nothing yet, so go on. */
export type AcquireOutcome = 'taken' | 'held' | 'already-run' | 'ahead' | 'free'

/**
 * One attempt. A `take` that changes a row has taken the lock. A `look` changes nothing: a row that it finds says its
 * `outcome`, and means `held` without one. A `decide` may take the lock, and answers with a row that says the `outcome`.
 */
export interface AcquireStep {
  readonly kind: 'take' | 'look' | 'decide'
  readonly statement: Statement
}

/** Which rows can be taken, and what is written into `locked_at`, so that it grows with every acquisition. */
export interface Claim {
  /** The condition under which a row may be taken. */
  isFree(dialect: Dialect, row: LockTable): Statement
  /** What a row that is there gets. */
  lockedAt(dialect: Dialect, row: LockTable): Statement
  /** What a new row gets. */
  firstLockedAt(dialect: Dialect): Statement
  /** Sees whether the lock is refused. */
  look(dialect: Dialect, table: LockTable): Statement
  /** The same after a take that took nothing. */
  lookAgain(dialect: Dialect, table: LockTable): Statement
}

/** One way to take a lock, or to look whether it is held, for any dialect and table. */
export type LockStatementForm = (dialect: Dialect, table: LockTable, claim: Claim) => AcquireStep

/** Finds (`read`) or changes (`write`) one row if the lock is ours and its lease not over, and none otherwise. */
export interface Pin {
  readonly kind: 'read' | 'write'
  readonly statement: Statement
}

/** What one database needs said differently. Data only: no ORM, no I/O. */
export interface Dialect extends Identifiers {
  readonly name: DialectName

  /** What `describe` is given for the schema where none is named; default: null, bound. */
  readonly defaultSchema?: Statement

  /** The database's clock when the row is written, as zone-less UTC, cut (not rounded) to milliseconds. */
  readonly now: Statement
  /** A point in time some milliseconds after another, as zone-less UTC. */
  plus(time: Statement, milliseconds: Statement): Statement
  /** The beginning of 1970 as zone-less UTC. */
  readonly epoch: Statement
  /** A point in time as whole milliseconds since 1970. */
  epochMilliseconds(time: Statement): Statement
  /** A bound text with the type that the database cannot guess. */
  text(parameter: Statement): Statement

  /** How to take the lock: tried in order until one takes it or one sees that it is held. */
  readonly acquire: readonly LockStatementForm[]

  /**
   * How an unlock is written, where it is cheaper that it need not survive a crash of the server: one that is lost does
   * no harm, because the lease ends by itself. Default: a plain update.
   */
  readonly unlock?: ((table: Statement, assignment: Statement, condition: Statement) => Statement) | undefined

  /**
   * A write followed by a query of how many rows it `changed`, where triggers or settings can falsify the count that the
   * client is told. The forms in `acquire` say it by themselves.
   */
  readonly counted?: ((write: Statement) => Statement) | undefined

  /** How a transaction keeps everybody else from changing the lock's row until it ends. */
  readonly pin: (dialect: Dialect, table: LockTable) => Pin

  /** The native codes of errors that are expected. Every other error is an error. */
  readonly errors: {
    /** Somebody else was faster and nothing was changed: ask again, and in the end take it as held. Code → meaning. */
    readonly conflict: Readonly<Record<string, string>>
    /** The database is busy with something else: wait and ask again, and in the end fail. Code → meaning. */
    readonly busy: Readonly<Record<string, string>>
  }

  readonly ddl: {
    /** `if exists` and `if not exists`, where the database has them: then the migration may run again. */
    readonly conditional: boolean
    /** Makes `create table if not exists` succeed for each of several sessions that run it at the same time, where it does not by itself. */
    readonly createTogether?: ((createTable: string) => string) | undefined
    /** Column definitions for a new table. */
    readonly columns: Readonly<Record<LockColumn, string>>
    /** Set where the server makes up a name for an unnamed primary key, another in each database. */
    readonly namedPrimaryKey?: boolean
    /** Set where the primary key stands behind the closing parenthesis of `create table`. */
    readonly primaryKeyBehind?: true
    /** What stands behind the closing parenthesis of `create table`. */
    readonly tableOptions?: string
    /** The collation under which texts are equal only when they are the same, where that is not the default. */
    readonly collation?: string
    /** Gives a column, whose type was another, its definition; absent where a table must be made anew for that. */
    readonly alterColumn?: (table: string, column: string, definition: string, type: string) => string
    /** The same for the name's column, where its key has to go for it, and come back under this name. */
    readonly alterKey?: (table: string, column: string, definition: string, key: string) => readonly string[]
    /** Adds a column with a value for the rows that are there, where `alter table … add …` is said differently. */
    readonly addColumn?: (table: string, column: string, definition: string, value: string) => string
    /** Makes a schema unless it is there, where the database has schemas. */
    readonly createSchema?: (schema: string) => string
  }

  /**
   * Finds the columns of the table as rows of `column_name` and `column_type`; and, where it can, `max_length` in
   * characters, `nullable` (1 or 0), `unique_keys` (how many unique indexes are on this column alone) and `autocommit` (0:
   * this session does not commit by itself). Binds `schema` and `table`.
   */
  readonly describe: (schema: Statement, table: Statement) => Statement
  /** The types under which the lock is right; a wrong one could let two hold it. */
  readonly types: Readonly<Record<LockColumn, RegExp>>
  /** Types that are right under a condition. */
  readonly doubtfulTypes?: readonly { readonly pattern: RegExp; readonly why: string }[]

  readonly inspection?: Inspection
}

/** What is asked of one database when its table is looked over; nothing of it is needed for a lock. */
export interface Inspection {
  /** What a `select` without a table has to end with. */
  readonly from?: Statement
  /** The user of this connection, spelled as `grant … to` wants it. */
  readonly grantee?: Statement
  /** For columns that the server converts with the time zone of the session. */
  readonly timeZone?: {
    /** Their types. */
    readonly types: RegExp
    /** The zone of this session. */
    readonly ask: Statement
    /** Gives another session the same zone. */
    readonly set: (zone: string) => string
  }
  /** The native codes for a missing privilege. */
  readonly denied: readonly string[]
  /** The number of the server's session: when two connections at one time have the same, a pooler is between. */
  readonly session?: Statement
  readonly settings?: readonly Setting[]
}

/** A setting of the server or the session that is a matter of the lock. */
export interface Setting {
  readonly name: string
  /** Gives one row, with the value in its last column. */
  readonly ask: Statement
  readonly wrong: RegExp
  readonly severity: 'error' | 'warning'
  /** What it does to locks, and what to do. */
  readonly message: string
  /** The SQL that changes it, for the user of this connection. */
  readonly fix: (grantee: string) => string
}
