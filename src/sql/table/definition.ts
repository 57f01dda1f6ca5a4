import type { Dialect } from '../dialect'
import { render } from '../sql'
import { COLUMNS, tableSql, type LockColumn, type LockTableOptions } from '../names'

/** How many characters the string columns hold; the other columns are for times. */
export const LENGTHS: Readonly<Partial<Record<LockColumn, number>>> = { name: 64, lockedBy: 255 }
/** Returns the type of a column in a new table. No column may be null. */
export function columnType({ table }: Dialect, column: LockColumn): string {
  const length = LENGTHS[column]
  return length === undefined ? table.time : table.text(length)
}

/**
 * Returns the statements that create a lock table with these names, and those that remove it, for people to read.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect does not allow
 */
export function tableDefinition(dialect: Dialect, options: LockTableOptions = {}) {
  const { conditional, createTogether, namedPrimaryKey, primaryKeyAfterColumns, tableOptions } = dialect.table
  const lock = tableSql(dialect, options)
  const table = render(lock.table)
  // Named as Prisma names it, because Prisma would treat another name as a change to the table.
  const primaryKey = namedPrimaryKey
    ? `constraint ${dialect.quote(`${lock.names.tableName}_pkey`)} primary key`
    : 'primary key'
  const key = `${primaryKey} (${render(lock.name)})`
  const parts = COLUMNS.map((role) => `  ${render(lock[role])} ${columnType(dialect, role)} not null`)
  const inside = primaryKeyAfterColumns ? parts : [...parts, `  ${key}`]
  const after = primaryKeyAfterColumns ? key : tableOptions
  const create =
    `create table ${conditional ? 'if not exists ' : ''}${table} (\n${inside.join(',\n')}\n)` +
    (after === undefined ? '' : ` ${after}`)
  // `if not exists` would accept any table of that name; this statement changes nothing, but fails if the columns are missing.
  const same = COLUMNS.slice(1).map((role) => `${render(lock[role])} = ${render(lock[role])}`)
  const touch = `update ${table} set ${same.join(', ')} where ${render(lock.name)} = ''`
  return {
    /** The first statement of `up` as a plain `create table`, for use when no other session creates the table at the same time. */
    create,
    /** Creates the table. If the database has `if not exists`, several sessions may run it at the same time, and again. */
    up: [createTogether?.(create) ?? create, ...(conditional ? [touch] : [])],
    down: [`drop table ${conditional ? 'if exists ' : ''}${table}`],
  }
}

/** Explains the last of these statements to a reader. */
export function explained([create, ...touches]: readonly string[]): readonly string[] {
  const why = '-- Changes no row, but fails if there was a table of this name without these columns.\n'
  return [create ?? '', ...touches.map((touch) => why + touch)]
}

/**
 * Returns the migration of a lock table with these names as files for migration tools: `up` and `down` in plain SQL for the
 * database's own client and for Flyway, with comments that make `up` Liquibase's formatted SQL as well; and both in one file for
 * dbmate.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect does not allow
 */
export function migrationScripts(dialect: Dialect, options: LockTableOptions = {}) {
  const { up: plain, down } = tableDefinition(dialect, options)
  const up = explained(plain)
  const script = (statements: readonly string[]): string =>
    statements.map((statement) => `${statement};\n`).join('\n')
  // By default, Liquibase would cut the block at its first semicolon.
  const attributes = dialect.table.createTogether ? ' splitStatements:false' : ''
  return {
    up:
      `-- liquibase formatted sql\n\n-- changeset shedlock-orm:create-shedlock${attributes}\n${script(up)}\n` +
      down.map((statement) => `-- rollback ${statement};\n`).join(''),
    down: script(down),
    dbmate: `-- migrate:up\n${script(up)}\n-- migrate:down\n${script(down)}`,
  }
}
