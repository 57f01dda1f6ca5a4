import { checkOptions, LockError } from '../core'
import { raw, sql, type Statement } from './statement'

/** Names the lock table. Provider, entity, migration, model and command line all take this same object. */
export interface LockTableOptions {
  /** Default: the one that the connection uses. */
  readonly schema?: string | undefined
  /** Default `shedlock` (on Oracle `SHEDLOCK`). */
  readonly tableName?: string | undefined
  /** Default: ShedLock's own, see `LockColumnNames`. */
  readonly columnNames?: Partial<LockColumnNames> | undefined
}

/** Defaults: `name`, `lock_until`, `locked_at`, `locked_by` (on Oracle in upper case), which are ShedLock's own. */
export interface LockColumnNames {
  readonly name: string
  readonly lockUntil: string
  readonly lockedAt: string
  readonly lockedBy: string
}

/** The keys of `LockTableOptions`, for those whose own options include them. */
export const TABLE_OPTIONS = ['schema', 'tableName', 'columnNames'] as const
const LOWER_CASE = {
  table: 'shedlock',
  columns: { name: 'name', lockUntil: 'lock_until', lockedAt: 'locked_at', lockedBy: 'locked_by' },
}
const UPPER_CASE = {
  table: 'SHEDLOCK',
  columns: { name: 'NAME', lockUntil: 'LOCK_UNTIL', lockedAt: 'LOCKED_AT', lockedBy: 'LOCKED_BY' },
}

/** What a dialect has to say about identifiers. */
export interface Identifiers {
  readonly name: string
  /** Quotes an identifier, whatever is in it. */
  quote(identifier: string): string
  /** In bytes. */
  readonly longestIdentifier: number
  /** What this database cannot have in an identifier, not even quoted; control characters aside. */
  readonly notInIdentifiers?: RegExp
  /** Names without quotes are upper case here, and so are our default names: a table made by plain SQL is found. */
  readonly upperCaseNames?: true
}

/** The names with defaults filled in. */
export interface LockTableNames {
  readonly schema: string | undefined
  readonly table: string
  readonly columns: LockColumnNames
}

/** The identifiers of one lock table, quoted for one dialect. */
export interface LockTable {
  readonly names: LockTableNames
  readonly table: Statement
  readonly name: Statement
  readonly lockUntil: Statement
  readonly lockedAt: Statement
  readonly lockedBy: Statement
}

/**
 * Fills in the defaults.
 *
 * @throws LockError `INVALID_CONFIGURATION` for an unknown column, or a name that is used twice
 */
export function lockTableNames(
  options: LockTableOptions = {},
  dialect?: Pick<Identifiers, 'upperCaseNames'>,
): LockTableNames {
  const defaults = dialect?.upperCaseNames ? UPPER_CASE : LOWER_CASE
  const { schema, tableName = defaults.table, columnNames = {} } = options
  checkOptions(columnNames, Object.keys(defaults.columns), 'columnNames')
  const columns = { ...defaults.columns, ...columnNames }
  const distinct = new Set(Object.values(columns).map((name) => name.toLowerCase()))
  if (distinct.size < Object.keys(columns).length) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `columnNames uses one name for two columns (${Object.values(columns).join(', ')}) – give each its own.`,
    )
  }
  return { schema, table: tableName, columns }
}

/**
 * Fills in the defaults, checks the names and quotes them.
 *
 * @throws LockError `INVALID_CONFIGURATION` for a name that the dialect cannot have, or that is used twice
 */
export function lockTable(dialect: Identifiers, options: LockTableOptions = {}): LockTable {
  const names = lockTableNames(options, dialect)
  const quote = (identifier: unknown, what: string): Statement =>
    raw(dialect.quote(checkIdentifier(identifier, what, dialect)))
  const table = quote(names.table, 'tableName')
  return {
    names,
    table: names.schema === undefined ? table : sql`${quote(names.schema, 'schema')}.${table}`,
    name: quote(names.columns.name, 'columnNames.name'),
    lockUntil: quote(names.columns.lockUntil, 'columnNames.lockUntil'),
    lockedAt: quote(names.columns.lockedAt, 'columnNames.lockedAt'),
    lockedBy: quote(names.columns.lockedBy, 'columnNames.lockedBy'),
  }
}

function checkIdentifier(
  identifier: unknown,
  what: string,
  { name, longestIdentifier, notInIdentifiers }: Identifiers,
): string {
  const fail = (why: string): LockError =>
    new LockError('INVALID_CONFIGURATION', `${what} ${why} – give a name that ${name} can have.`)
  if (typeof identifier !== 'string' || identifier.trim() === '') throw fail('is empty')
  if (/[\p{Cc}\p{Cs}]/u.test(identifier)) throw fail(`${JSON.stringify(identifier)} has control characters`)
  if (identifier.endsWith(' ')) throw fail(`'${identifier}' ends with a blank`)
  if (notInIdentifiers?.test(identifier))
    throw fail(`'${identifier}' has characters that ${name} does not allow`)
  // PostgreSQL cuts a longer name silently, and counts bytes.
  if (Buffer.byteLength(identifier) > longestIdentifier)
    throw fail(`'${identifier}' is longer than ${longestIdentifier} bytes`)
  return identifier
}
