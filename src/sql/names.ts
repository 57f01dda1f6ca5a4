import {
  aString,
  parseOptions,
  configurationError,
  type LockError,
  type OptionParsers,
} from '../core/internal'
import { raw, sql, type LockValues, type Sql } from './sql'

/** The roles of the lock table's four columns, in the order of the table. */
export const COLUMNS = ['name', 'lockUntil', 'lockedAt', 'lockedBy'] as const
export type LockColumn = (typeof COLUMNS)[number]

/** The names of the columns. */
export type LockColumnNames = Readonly<Record<LockColumn, string>>

/** Names the lock table, in the same way for the provider, entity, migration, model and command line. */
export interface LockTableOptions {
  /** The table's schema. Default: the one that the connection uses. */
  readonly schema?: string | undefined
  /** The table's name. Default `shedlock` (on Oracle and SAP HANA `SHEDLOCK`). */
  readonly tableName?: string | undefined
  /**
   * Other names for some or all columns. Default: `name`, `lock_until`, `locked_at`, `locked_by`, which are ShedLock's own; in upper
   * case on Oracle and SAP HANA.
   */
  readonly columnNames?:
    Readonly<Partial<Record<'name' | 'lockUntil' | 'lockedAt' | 'lockedBy', string>>> | undefined
}

/** The names with defaults filled in. */
export interface LockTableNames extends LockTableOptions {
  readonly tableName: string
  readonly columnNames: LockColumnNames
}

/** The identifiers of one lock table, quoted for one dialect. */
export interface TableSql extends Readonly<Record<LockColumn, Sql>> {
  readonly names: LockTableNames
  /** The schema in which the table is: the named one, or where it was found. Default: what the session says. */
  readonly schema?: string | undefined
  readonly table: Sql
}

/** How one database writes identifiers. */
export interface Identifiers {
  /** Quotes an identifier, whatever characters it contains. */
  quote(identifier: string): string
  /** In bytes. */
  readonly longestIdentifier: number
  /** What an identifier of this database cannot contain here even if it is quoted, apart from control characters. */
  readonly notInIdentifiers?: RegExp
  /**
   * Set if the database turns unquoted names into upper case. The default names are then upper case too, so that they match a table
   * that plain SQL created.
   */
  readonly upperCaseNames?: true
}

/** With the name of the database, for messages. */
type NamedIdentifiers = Identifiers & { readonly name: string }

/** The parsers of `LockTableOptions` that do not depend on the database. */
export const TABLE_OPTIONS = {
  schema: aString,
  tableName: aString,
  // `lockTableNames` checks them.
  columnNames: (columnNames: Partial<LockColumnNames>) => columnNames,
} satisfies OptionParsers<LockTableOptions>

function perColumn<Value>(value: (column: LockColumn) => Value): Readonly<Record<LockColumn, Value>> {
  const entries = COLUMNS.map((column) => [column, value(column)] as const)
  return Object.fromEntries(entries) as Record<LockColumn, Value>
}

const DEFAULT_COLUMNS: LockColumnNames = {
  name: 'name',
  lockUntil: 'lock_until',
  lockedAt: 'locked_at',
  lockedBy: 'locked_by',
}

/**
 * Fills in the defaults.
 *
 * @throws LockError `INVALID_CONFIGURATION` for an unknown column, or a name that is empty or used twice
 */
export function lockTableNames(
  { schema, tableName, columnNames = {} }: LockTableOptions = {},
  identifiers?: Pick<Identifiers, 'upperCaseNames'>,
): LockTableNames {
  const parsers = perColumn(() => aString)
  parseOptions(columnNames, parsers, 'columnNames', undefined, 'columnNames')
  const inItsCase = (name: string): string => (identifiers?.upperCaseNames ? name.toUpperCase() : name)
  const columns = perColumn((column) => columnNames[column] ?? inItsCase(DEFAULT_COLUMNS[column]))
  for (const [what, name] of Object.entries({ schema, tableName, ...columns }))
    if (name?.trim() === '') {
      const option = what in columns ? `columnNames.${what}` : what
      throw configurationError(`${option} is empty – choose a name.`, undefined, option)
    }
  const names = Object.values(columns)
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) {
    throw configurationError(
      `columnNames uses one name for two columns (${names.join(', ')}) – name each column differently.`,
    )
  }
  return { schema, tableName: tableName ?? inItsCase('shedlock'), columnNames: columns }
}

/**
 * Fills in the defaults, checks the names and quotes them.
 *
 * @throws LockError `INVALID_CONFIGURATION` for a name that the dialect does not allow, or that is used twice
 */
export function tableSql(identifiers: NamedIdentifiers, options: LockTableOptions = {}): TableSql {
  const names = lockTableNames(options, identifiers)
  const quote = (identifier: string, what: string): Sql =>
    raw(identifiers.quote(parseIdentifier(identifier, what, identifiers)))
  const table = quote(names.tableName, 'tableName')
  return {
    names,
    schema: names.schema,
    table: names.schema === undefined ? table : sql`${quote(names.schema, 'schema')}.${table}`,
    ...perColumn((column) => quote(names.columnNames[column], `columnNames.${column}`)),
  }
}

/** Returns the values of a statement about the table. */
export function valuesOf({ schema, names }: TableSql): LockValues {
  return { schema: schema ?? null, table: names.tableName }
}

/** Returns the table in the schema in which it was found, unless one is named. On MySQL and MariaDB that is its database. */
export function foundIn(identifiers: Identifiers, table: TableSql, schema: unknown): TableSql {
  if (table.schema !== undefined || typeof schema !== 'string') return table
  return { ...table, schema, table: sql`${raw(identifiers.quote(schema))}.${table.table}` }
}

function parseIdentifier(
  identifier: string,
  what: string,
  { name, longestIdentifier, notInIdentifiers }: NamedIdentifiers,
): string {
  const fail = (why: string): LockError =>
    configurationError(`${what} ${why} – choose a name that ${name} allows.`, undefined, what)
  if (/[\p{Cc}\p{Cs}]/u.test(identifier))
    throw fail(`${JSON.stringify(identifier)} contains control characters`)
  if (identifier.endsWith(' ')) throw fail(`'${identifier}' ends with a blank`)
  if (notInIdentifiers?.test(identifier))
    throw fail(`'${identifier}' contains characters that do not work on ${name}`)
  // PostgreSQL silently cuts a longer name, and counts bytes.
  if (Buffer.byteLength(identifier) > longestIdentifier)
    throw fail(`'${identifier}' is longer than ${longestIdentifier} bytes`)
  return identifier
}

/** Returns the table's name for people to read. */
export function title({ schema, tableName }: LockTableNames): string {
  return schema === undefined ? tableName : `${schema}.${tableName}`
}
