import { LockError } from '../../core/internal'
import type { Dialect } from '../dialect'
import { checkColumn } from '../database-errors'
import { sql } from '../sql'
import type { FoundTable, Inspected } from '../lock-table'
import { DriverError, type SqlRow } from '../session'
import { columnType, LENGTHS, tableDefinition } from './definition'
import { COLUMNS, foundIn, type LockColumn, type TableSql, title, valuesOf } from '../names'

/** One thing that is wrong with a lock table, as `provider.table.check()` returns it. */
export interface TableFinding {
  /**
   * - `TABLE_MISSING` the table does not exist, or this user may not see it
   * - `COLUMN_MISSING` the table lacks a column
   * - `COLUMN_TYPE` a column has a type with which two callers could hold one lock, or a time would be rounded
   * - `COLUMN_TOO_SHORT` a string column is too short for some names or owners
   * - `COLUMN_NULLABLE` a column may be null: a row without a time would be held for ever
   * - `KEY_MISSING` the name's column has no primary key or unique index of its own: two rows could have one name
   * - `LOCKED_IN_FUTURE` another clock or another time zone writes times: two callers could hold one lock
   * - `TIME_INVALID` a row has a value that is not a time, such as null or infinity: its lock may be held for ever
   * - `CASE_IGNORED` names that differ only in case are one lock
   * - `PRIVILEGE_MISSING` this user may not select, insert or update
   * - `TABLE_KIND` it is not an ordinary table: a lock may be lost, or not be seen by others
   * - `OBSTACLE` others added something to the table that may keep locks from working: a trigger, a rule, a policy, a column that
   *   changes by itself
   * - `REFUSED` the database refuses a statement that the lock needs, for another reason: it may be a read-only replica
   */
  readonly code:
    | 'TABLE_MISSING'
    | 'COLUMN_MISSING'
    | 'COLUMN_TYPE'
    | 'COLUMN_TOO_SHORT'
    | 'COLUMN_NULLABLE'
    | 'KEY_MISSING'
    | 'LOCKED_IN_FUTURE'
    | 'TIME_INVALID'
    | 'CASE_IGNORED'
    | 'PRIVILEGE_MISSING'
    | 'TABLE_KIND'
    | 'OBSTACLE'
    | 'REFUSED'
  /** `error`: locks fail, or two callers could hold one lock. `warning`: the table works, but could be better. */
  readonly severity: 'error' | 'warning'
  /** What is wrong, and what to do about it: of a column, what it is and what it must be. */
  readonly message: string
  /**
   * SQL that creates the table, grants privileges or corrects times, one statement in each string, without semicolons. Stop the jobs
   * before you run it. Running it again changes nothing. Empty if the table has to change: that takes a migration of your own.
   */
  readonly fix: readonly string[]
}

/** With these, two callers could hold one lock, so no lock is acquired. */
const FATAL: readonly TableFinding['code'][] = [
  'TABLE_MISSING',
  'COLUMN_MISSING',
  'COLUMN_TYPE',
  'KEY_MISSING',
]

/** Reads the columns of the table that it can; none if there is no such table. */
export async function describeTable({ attempt, dialect, table }: Inspected): Promise<readonly SqlRow[]> {
  const { describe, defaultSchema, absent = [] } = dialect.table
  if (!describe) {
    const found: SqlRow[] = []
    for (const column of COLUMNS)
      try {
        await attempt.query(sql`select ${table[column]} from ${table.table} where 1 = 0`)
        found.push({ column_name: table.names.columnNames[column] })
      } catch (error) {
        if (!(error instanceof DriverError) || !absent.includes(error.code ?? '')) throw error
      }
    return found
  }
  const schema = table.schema ?? attempt.ownSchema ?? defaultSchema
  const rows = await attempt.query(describe, valuesOf({ ...table, schema }))
  checkColumn('column_name', rows)
  return rows
}

/** What the table is, and what others added to it, by the `what` of a dialect's `obstacles`, unless an error names it. */
const OBSTACLES: Readonly<
  Record<string, readonly [TableFinding['code'], TableFinding['severity'], is: string, cure: string]>
> = {
  view: ['TABLE_KIND', 'error', 'is a view', 'set schema and tableName to the table itself'],
  temporary: ['TABLE_KIND', 'error', 'is temporary, so only one session sees it', 'create an ordinary table'],
  unlogged: ['TABLE_KIND', 'error', 'is unlogged, so a crash empties it', 'make it logged'],
  engine: ['TABLE_KIND', 'error', 'has another engine than InnoDB', 'make it InnoDB'],
  policy: ['OBSTACLE', 'warning', 'has row-level security', 'let this user read and change all rows'],
  trigger: ['OBSTACLE', 'warning', 'has a trigger', 'let it keep no row from changing, or drop it'],
  rule: ['OBSTACLE', 'error', 'has a rule', 'drop it'],
}

/** Finds what the privileges do not show: what the table is, and what others added to it. */
export async function obstacles({ attempt, dialect, table }: Inspected): Promise<TableFinding[]> {
  const statement = dialect.table.obstacles
  const rows = statement ? await attempt.query(statement, valuesOf(table)) : []
  return rows.flatMap(({ what, name }) => {
    const known = OBSTACLES[String(what)]
    if (!known) return []
    const [code, severity, is, cure] = known
    return [finding(code, severity, `Table '${title(table.names)}' ${is} (${String(name)}) – ${cure}.`)]
  })
}

/** Finds the table, and compares its columns with what the lock needs. @param cause of the problem */
export async function findTable(inspected: Inspected, cause?: unknown): Promise<FoundTable> {
  const { attempt, dialect, table } = inspected
  const { lockName } = attempt
  const described = await describeTable(inspected)
  const [column] = described
  const found = column && foundIn(dialect, table, column['table_schema'])
  const isFatal = ({ code, severity }: TableFinding) => severity === 'error' && FATAL.includes(code)
  const fatal = tableFindings(dialect, table, described).find(isFatal)
  if (!fatal) return { sql: found }
  const code = fatal.code === 'TABLE_MISSING' ? 'TABLE_MISSING' : 'TABLE_MISMATCH'
  return { sql: found, problem: new LockError(code, fatal.message, { lockName, cause }) }
}

/** Returns all findings about the described columns, worst first. */
export function tableFindings(
  dialect: Dialect,
  table: TableSql,
  described: readonly SqlRow[],
): TableFinding[] {
  if (described.length === 0) return [missing(dialect, table)]
  const rows = new Map(described.map((row) => [String(row['column_name']).toLowerCase(), row]))
  return COLUMNS.flatMap((column) => {
    const name = table.names.columnNames[column]
    const row = rows.get(name.toLowerCase())
    if (row) return columnFindings(dialect, table, column, row)
    const message = `Table '${title(table.names)}' has no column '${name}' – add it as ${mustBe(dialect, column)}, or correct columnNames.${column}.`
    return finding('COLUMN_MISSING', 'error', message)
  }).sort(worstFirst)
}

function missing(dialect: Dialect, { names }: TableSql): TableFinding {
  const { schema: inSchema, tableName } = names
  const what = `There is no lock table '${title(names)}' that this connection can see`
  const [schema, name] = tableName.split('.').slice(-2)
  if (name !== undefined)
    return finding(
      'TABLE_MISSING',
      'error',
      `${what} – a dot in the name is part of it, and names no schema: set schema to '${schema}' and tableName to '${name}'. If the name is right, run the migration.`,
    )
  const createSchema =
    inSchema === undefined ? undefined : dialect.table.createSchema?.(dialect.quote(inSchema))
  const { create } = tableDefinition(dialect, names)
  return finding(
    'TABLE_MISSING',
    'error',
    `${what} – run the migration, or correct schema and tableName, because locks in two tables do not exclude each other. If no migration is pending, the table has another name: set tableName to that name, or rename the table.`,
    createSchema === undefined ? [create] : [createSchema, create],
  )
}

function columnFindings(dialect: Dialect, table: TableSql, column: LockColumn, row: SqlRow): TableFinding[] {
  const where = title(table.names)
  const name = table.names.columnNames[column]
  const type = String(row['column_type'])
  const findings: TableFinding[] = []
  const add = (code: TableFinding['code'], severity: TableFinding['severity'], what: string): void => {
    const message = `Column '${name}' of table '${where}' ${what} – make it ${mustBe(dialect, column)}.`
    findings.push(finding(code, severity, message))
  }

  const { types, doubtfulType: doubt } = dialect.table
  if (types && !types[LENGTHS[column] === undefined ? 'time' : 'text'].test(type))
    add('COLUMN_TYPE', 'error', `has type ${type}, with which two callers could hold one lock`)
  else if (doubt?.pattern.test(type)) add('COLUMN_TYPE', 'warning', `has type ${type}, ${doubt.why}`)

  const length = toNumber(row['max_length'])
  const needed = LENGTHS[column] ?? 0
  // PostgreSQL reports -1 for timestamp(3).
  if (length !== undefined && length > 0 && length < needed)
    add('COLUMN_TOO_SHORT', 'error', `holds ${length} characters but needs ${needed}`)
  // Only a warning for `lock_until`, because each statement of a lock sets it.
  const harm = column === 'lockedAt' ? 'error' : 'warning'
  if (toNumber(row['on_update']) === 1)
    add('OBSTACLE', harm, 'changes by itself when others do: a lease may end, a slot run twice or never')
  if (toNumber(row['nullable']) === 1)
    add('COLUMN_NULLABLE', 'warning', 'may be null, and a row with null would be held for ever')
  if (column === 'name' && toNumber(row['unique_keys']) === 0) {
    const message = `Table '${where}' has no primary key and no unique index on '${name}' alone, so two callers could hold one lock – add one of them; the column must be ${mustBe(dialect, column)}.`
    findings.push(finding('KEY_MISSING', 'error', message))
  }
  return findings
}

/** Returns the definition of a column. A new table has its collation as an option, but a changed column may have another one. */
export function mustBe(dialect: Dialect, column: LockColumn): string {
  const type = columnType(dialect, column)
  const { collation = '' } = dialect.table
  const collate = LENGTHS[column] === undefined || type.endsWith(collation) ? '' : ` collate ${collation}`
  return `'${type}${collate} not null'`
}

export function finding(
  code: TableFinding['code'],
  severity: TableFinding['severity'],
  message: string,
  fix: readonly string[] = [],
): TableFinding {
  return { code, severity, message, fix }
}

export function worstFirst(one: TableFinding, other: TableFinding): number {
  return one.severity.localeCompare(other.severity)
}

/** Reads a whole number, which drivers return as number, bigint or string; `undefined` if the dialect does not report it. */
function toNumber(value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : Number(value)
}
