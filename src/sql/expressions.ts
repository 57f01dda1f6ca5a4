import { parameter, raw, sql, type Sql } from './sql'
import { COLUMN, hexOf, type Column } from './results'
import type { Identifiers, TableSql } from './names'

/** How one database writes the times and strings of a lock. */
export interface Expressions extends Pick<Identifiers, 'quote'> {
  /** The database's clock when the row is written, as zone-less UTC, cut (not rounded) to milliseconds. */
  readonly now: Sql
  /** A time some milliseconds after another one, as zone-less UTC. */
  plus(time: Sql, milliseconds: Sql): Sql
  /** The later of two times. Default: `case`, which takes longer to plan. */
  readonly later?: ((one: Sql, other: Sql) => Sql) | undefined
  /** The beginning of 1970, as zone-less UTC. */
  readonly epoch: Sql
  /**
   * A time as whole milliseconds since 1970, limited to what a `Date` can hold; null or negative for a value that is not a time.
   */
  epochMilliseconds(time: Sql): Sql
  /** A bound string, with a cast if the database cannot infer its type. */
  text(parameter: Sql): Sql
  /**
   * The bytes of a string in UTF-8, as hexadecimal digits, if the session's character set would change the string on its way to the
   * client. Default: the string is read as it is.
   */
  hex?(text: Sql): Sql
  /** 1 if this server is a standby or a former primary, which may return old rows, else 0. Default: unknown. */
  readonly readOnly?: Sql | undefined
  /**
   * A key of `UNFIT` if the app has left something in the session with which a lock would not be kept, else 0. Only reads contain it.
   * Default: no session is unfit.
   */
  readonly unfit?: Sql | undefined
  /**
   * A condition of writes that no read precedes: false, or an error, if the session does not commit what it writes. Default: every
   * session commits.
   */
  readonly commits?: Sql | undefined
  /**
   * A key of `UNFIT` if the session has an open transaction that has written, else 0. Read after a write on a session that may be the app's.
   * Default: `unfit` or `commits` shows it.
   */
  readonly joined?: Sql | undefined
  /**
   * Writes an update that does not wait if another session keeps the row locked: it then fails with one of the `transientErrors`, or
   * changes nothing (`rowIfUnlocked`). Default: a plain update, which waits for as long as the server lets it.
   */
  readonly update?: ((lock: LockSql, update: Update) => Sql) | undefined
}

/** An update of the row of one lock. */
export interface Update {
  readonly assignments: Sql
  readonly condition: Sql
  /** Whether a crash may undo it: without it, the lease ends by itself. */
  readonly mayBeLost?: true
}

/** The pieces from which the statements of one lock table are composed. */
export type LockSql = ReturnType<typeof lockSql> & {
  /** The bound slot, as zone-less UTC, to acquire the lock for it. */
  readonly slot?: Sql
}

export function lockSql(dialect: Expressions, table: TableSql) {
  const { now } = dialect
  const lockName = dialect.text(parameter('name'))
  const owner = dialect.text(parameter('lockedBy'))
  const isNamed = sql`${table.name} = ${lockName}`
  const isOwn = sql`${isNamed} and ${table.lockedBy} = ${owner}`
  return {
    ...table,
    dialect,
    now,
    /** The bound name of the lock. */
    lockName,
    /** The bound owner of this acquisition. */
    owner,
    /** When a lease that begins now ends. */
    leaseEnd: dialect.plus(now, parameter('lockAtMostFor')),
    /** Matches the row of this lock. */
    isNamed,
    /** Matches the row if this acquisition has it, even if its lease is over. */
    isOwn,
    /** Matches the row while this acquisition holds it. */
    isOwnHeld: sql`${isOwn} and ${table.lockUntil} > ${now}`,
    /** Ends the condition of a write, so that a session that does not commit what it writes changes nothing. */
    commits: dialect.commits ? sql` and ${dialect.commits}` : sql``,
  }
}

/** Updates the row of a lock. */
export function updateLock(lock: LockSql, update: Update): Sql {
  const { assignments, condition } = update
  return (
    lock.dialect.update?.(lock, update) ?? sql`update ${lock.table} set ${assignments} where ${condition}`
  )
}

/** The next `locked_at` without a slot, which is also the fencing token: it grows with every acquisition. */
export function nextToken(dialect: Expressions, lockedAt: Sql): Sql {
  const { now } = dialect
  return sql`case when ${lockedAt} >= ${now} then ${dialect.plus(lockedAt, raw('1'))} else ${now} end`
}

/** The later of two times. */
export function later({ later }: Expressions, one: Sql, other: Sql): Sql {
  return later?.(one, other) ?? sql`case when ${one} > ${other} then ${one} else ${other} end`
}

/** Names a column of a result. Quoted, because some names are SQL keywords, and some databases would change their case. */
export function as(dialect: Expressions, column: Column | `${Column}_hex`): Sql {
  return raw(`as ${dialect.quote(column)}`)
}

/** Reads a string of a row, for `readText`. */
export function textAs(dialect: Expressions, text: Sql, column: Column): Sql {
  return dialect.hex
    ? sql`${dialect.hex(text)} ${as(dialect, hexOf(column))}`
    : sql`${text} ${as(dialect, column)}`
}

/** Adds the column that says why the session is unfit for a lock. `query` of an attempt checks it. */
export function unfitColumn(dialect: Expressions, unfit = dialect.unfit): Sql {
  return unfit ? sql`, ${unfit} ${as(dialect, COLUMN.unfit)}` : sql``
}

/**
 * Adds what a lock must know about its session, and the column that is 1 if the server accepts no writes, because what it returns about
 * a lock may then be old.
 */
export function sessionColumns(
  dialect: Expressions,
  isReadOnly = dialect.readOnly,
  unfit = dialect.unfit,
): Sql {
  const readOnly = isReadOnly ? sql`, ${isReadOnly} ${as(dialect, COLUMN.readOnly)}` : sql``
  return sql`${readOnly}${unfitColumn(dialect, unfit)}`
}

export function columns(table: TableSql): Sql {
  return sql`${table.name}, ${table.lockUntil}, ${table.lockedAt}, ${table.lockedBy}`
}
