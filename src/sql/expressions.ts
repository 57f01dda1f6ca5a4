import { parameter, raw, SEVERAL_NAMES, sql, type Sql } from './sql'
import { READ_ONLY_COLUMN } from './sql-executor'
import type { Identifiers, TableSql } from './table-names'

/** How one database writes the times and texts of a lock. */
export interface Expressions extends Pick<Identifiers, 'quote'> {
  /** The database's clock when the row is written, as zone-less UTC, cut (not rounded) to milliseconds. */
  readonly now: Sql
  /** A point in time some milliseconds after another, as zone-less UTC. */
  plus(time: Sql, milliseconds: Sql): Sql
  /** The beginning of 1970 as zone-less UTC. */
  readonly epoch: Sql
  /** A point in time as whole milliseconds since 1970, cut to what a `Date` can be; null, or before 1970, for what is no time. */
  epochMilliseconds(time: Sql): Sql
  /** A bound text with the type that the database cannot guess. */
  text(parameter: Sql): Sql
  /**
   * A text's bytes in UTF-8, as hexadecimal digits: where the session's character set would change the text on its way to the
   * client. Default: the text is read as it is.
   */
  hex?(text: Sql): Sql
  /** 1 if this server is a standby or a former primary, which may answer with old rows, else 0. Default: not known. */
  readonly readOnly?: Sql | undefined
}

/** The row of this lock. */
export function isNamed(dialect: Expressions, table: TableSql): Sql {
  return sql`${table.name} = ${dialect.text(parameter('name'))}`
}

/** The rows of several locks. */
export function isAmong(dialect: Expressions, table: TableSql): Sql {
  const names = SEVERAL_NAMES.map((each) => dialect.text(parameter(each)))
  return sql`${table.name} in (${names.reduce((list, each) => sql`${list}, ${each}`)})`
}

export function isHeld(dialect: Expressions, table: TableSql): Sql {
  return sql`${isNamed(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

export function isMine(dialect: Expressions, table: TableSql): Sql {
  return sql`${isNamed(dialect, table)} and ${table.lockedBy} = ${dialect.text(parameter('lockedBy'))}`
}

export function isHeldByMe(dialect: Expressions, table: TableSql): Sql {
  return sql`${isMine(dialect, table)} and ${table.lockUntil} > ${dialect.now}`
}

/** Names a column of a result. Quoted, because some names are words of SQL, and some databases would fold them. */
export function as(dialect: Expressions, column: string): Sql {
  return raw(`as ${dialect.quote(column)}`)
}

/** Reads a text of a row, for `readText` in records.ts. */
export function textAs(dialect: Expressions, text: Sql, column: string): Sql {
  return dialect.hex
    ? sql`${dialect.hex(text)} ${as(dialect, `${column}_hex`)}`
    : sql`${text} ${as(dialect, column)}`
}

/** Names the column by which a row says that its server does not accept writes: what it says of a lock may be old. */
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
