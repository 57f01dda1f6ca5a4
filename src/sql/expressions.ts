import { parameter, raw, sql, type Sql } from './sql'
import { READ_ONLY_COLUMN } from './sql-executor'
import type { Identifiers, TableSql } from './table/names'

/** How one database writes the times and strings of a lock. */
export interface Expressions extends Pick<Identifiers, 'quote'> {
  /** The database's clock when the row is written, as zone-less UTC, cut (not rounded) to milliseconds. */
  readonly now: Sql
  /** A time some milliseconds after another one, as zone-less UTC. */
  plus(time: Sql, milliseconds: Sql): Sql
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
}

/** Matches the row of this lock. */
export function isNamed(dialect: Expressions, table: TableSql): Sql {
  return sql`${table.name} = ${dialect.text(parameter('name'))}`
}

export function isHeld(dialect: Expressions, table: TableSql): Sql {
  return sql`${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

export function isOwnRow(dialect: Expressions, table: TableSql): Sql {
  return sql`${isNamed(dialect, table)} and ${table.lockedBy} = ${dialect.text(parameter('lockedBy'))}`
}

export function isOwnHeldRow(dialect: Expressions, table: TableSql): Sql {
  return sql`${isOwnRow(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

/** Names a column of a result. Quoted, because some names are SQL keywords, and some databases would change their case. */
export function as(dialect: Expressions, column: string): Sql {
  return raw(`as ${dialect.quote(column)}`)
}

/** Reads a string of a row, for `readText` in records.ts. */
export function textAs(dialect: Expressions, text: Sql, column: string): Sql {
  return dialect.hex
    ? sql`${dialect.hex(text)} ${as(dialect, `${column}_hex`)}`
    : sql`${text} ${as(dialect, column)}`
}

/** Adds the column that is 1 if the server accepts no writes, because what it returns about a lock may then be old. */
export function readOnlyColumn(dialect: Expressions, isReadOnly = dialect.readOnly): Sql {
  return isReadOnly ? sql`, ${isReadOnly} ${as(dialect, READ_ONLY_COLUMN)}` : sql``
}

export function columns(table: TableSql): Sql {
  return sql`${table.name}, ${table.lockUntil}, ${table.lockedAt}, ${table.lockedBy}`
}

/** The slot, as zone-less UTC. */
export function slotTime(dialect: Expressions): Sql {
  return dialect.plus(dialect.epoch, parameter('slot'))
}
