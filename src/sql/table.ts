import { checkOptions, invalid, type LockError } from '../core'
import type { Dialect, LockColumn, LockTable, LockTableNames, LockTableOptions } from './dialect'
import { raw, render, sql, type Statement } from './statement'

/** The keys of `LockTableOptions`. */
export const TABLE_OPTIONS = ['schema', 'tableName', 'columnNames'] as const
/** In the order in which the table has them. */
export const COLUMNS = ['name', 'lockUntil', 'lockedAt', 'lockedBy'] as const
/** How many characters the columns for texts hold; the others are for times. */
export const LENGTHS: Readonly<Partial<Record<LockColumn, number>>> = { name: 64, lockedBy: 255 }
const LOWER_CASE = {
  tableName: 'shedlock',
  columnNames: { name: 'name', lockUntil: 'lock_until', lockedAt: 'locked_at', lockedBy: 'locked_by' },
}
const UPPER_CASE = {
  tableName: 'SHEDLOCK',
  columnNames: { name: 'NAME', lockUntil: 'LOCK_UNTIL', lockedAt: 'LOCKED_AT', lockedBy: 'LOCKED_BY' },
}

/**
 * Fills in the defaults.
 *
 * @throws LockError `INVALID_CONFIGURATION` for an unknown column, or a name that is used twice
 */
export function lockTableNames(
  { schema, tableName, columnNames = {} }: LockTableOptions = {},
  dialect?: Pick<Dialect, 'upperCaseNames'>,
): LockTableNames {
  const defaults = dialect?.upperCaseNames ? UPPER_CASE : LOWER_CASE
  checkOptions(columnNames, Object.keys(defaults.columnNames), 'columnNames')
  const columns = { ...defaults.columnNames, ...columnNames }
  const names = Object.values(columns)
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) {
    throw invalid(
      `columnNames uses one name for two columns (${names.join(', ')}) – name each column differently.`,
    )
  }
  return { schema, tableName: tableName ?? defaults.tableName, columnNames: columns }
}

/**
 * Fills in the defaults, checks the names and quotes them.
 *
 * @throws LockError `INVALID_CONFIGURATION` for a name that the dialect cannot have, or that is used twice
 */
export function lockTable(dialect: Dialect, options: LockTableOptions = {}): LockTable {
  const names = lockTableNames(options, dialect)
  const quote = (identifier: unknown, what: string): Statement =>
    raw(dialect.quote(checkIdentifier(identifier, what, dialect)))
  const column = (role: LockColumn): Statement => quote(names.columnNames[role], `columnNames.${role}`)
  const table = quote(names.tableName, 'tableName')
  return {
    names,
    table: names.schema === undefined ? table : sql`${quote(names.schema, 'schema')}.${table}`,
    name: column('name'),
    lockUntil: column('lockUntil'),
    lockedAt: column('lockedAt'),
    lockedBy: column('lockedBy'),
  }
}

function checkIdentifier(
  identifier: unknown,
  what: string,
  { name, longestIdentifier, notInIdentifiers }: Dialect,
): string {
  const fail = (why: string): LockError => invalid(`${what} ${why} – choose a name that ${name} allows.`)
  if (typeof identifier !== 'string' || identifier.trim() === '') throw fail('is empty')
  if (/[\p{Cc}\p{Cs}]/u.test(identifier))
    throw fail(`${JSON.stringify(identifier)} contains control characters`)
  if (identifier.endsWith(' ')) throw fail(`'${identifier}' ends with a blank`)
  if (notInIdentifiers?.test(identifier))
    throw fail(`'${identifier}' contains characters that ${name} does not allow`)
  // PostgreSQL cuts a longer name silently, and counts bytes.
  if (Buffer.byteLength(identifier) > longestIdentifier)
    throw fail(`'${identifier}' is longer than ${longestIdentifier} bytes`)
  return identifier
}

/** The type of a column in a new table; none of them may be null. */
export function columnType({ ddl }: Dialect, column: LockColumn): string {
  const length = LENGTHS[column]
  return length === undefined ? ddl.time : ddl.text(length)
}

/** The table's name, for people. */
export function title({ schema, tableName }: LockTableNames): string {
  return schema === undefined ? tableName : `${schema}.${tableName}`
}

/** The statements that create the lock table, and those that remove it, for people to read. */
export interface TableDefinition {
  /** The first statement of `up` as a plain `create table`, for when no other session creates the table at the same time. */
  readonly create: string
  /** Creates the table. Where the database has `if not exists`, several sessions may run it at the same time, and again. */
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/**
 * The statements for a lock table with these names.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect cannot have
 */
export function tableDefinition(dialect: Dialect, options: LockTableOptions = {}): TableDefinition {
  const { conditional, createTogether, namedPrimaryKey, primaryKeyAfterColumns, tableOptions } = dialect.ddl
  const lock = lockTable(dialect, options)
  const table = render(lock.table)
  // Named as Prisma names it, because it would treat another name as a change to the table.
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
  // `if not exists` would accept any table of that name as the lock table; this changes nothing, but fails on another table.
  const same = COLUMNS.slice(1).map((role) => `${render(lock[role])} = ${render(lock[role])}`)
  const touch = `update ${table} set ${same.join(', ')} where ${render(lock.name)} = ''`
  return {
    create,
    up: [createTogether?.(create) ?? create, ...(conditional ? [touch] : [])],
    down: [`drop table ${conditional ? 'if exists ' : ''}${table}`],
  }
}

/**
 * The migration of a lock table with these names as files for migration tools: `up` and `down` in plain SQL for the database's own
 * client and for Flyway, with comments that make `up` Liquibase's formatted SQL as well; and both in one file for dbmate.
 *
 * @throws LockError `INVALID_CONFIGURATION` for names that the dialect cannot have
 */
export function migrationScripts(dialect: Dialect, options: LockTableOptions = {}) {
  const { up, down } = tableDefinition(dialect, options)
  const script = (statements: readonly string[]): string =>
    statements.map((statement) => `${statement};\n`).join('\n')
  // Liquibase would cut a block at its first semicolon.
  const attributes = dialect.ddl.createTogether ? ' splitStatements:false' : ''
  return {
    up:
      `-- liquibase formatted sql\n\n-- changeset shedlock-orm:create-shedlock${attributes}\n${script(up)}\n` +
      down.map((statement) => `-- rollback ${statement};\n`).join(''),
    down: script(down),
    dbmate: `-- migrate:up\n${script(up)}\n-- migrate:down\n${script(down)}`,
  }
}
