import { LockError } from '../core'
import type { Dialect, LockColumn } from './dialect'
import type { LockTable } from './lock-table'
import { TableFixes } from './table-fixes'
import type { Row } from './sql-executor'
import type { TableFinding, TableFindingCode } from './table-finding'

/** What a name and an owner may need. */
const LENGTHS: Readonly<Partial<Record<LockColumn, number>>> = { name: 64, lockedBy: 255 }

/** With these two could hold one lock, so none is given. */
const FATAL: readonly TableFindingCode[] = ['TABLE_MISSING', 'COLUMN_MISSING', 'COLUMN_TYPE', 'KEY_MISSING']

/**
 * Compares the columns that the database described with what the lock needs.
 *
 * @returns why the lock cannot be kept in this table, or `undefined`
 */
export function tableProblem(
  dialect: Dialect,
  table: LockTable,
  described: readonly Row[],
  cause?: unknown,
): LockError | undefined {
  if (described.some((row) => told(row['autocommit']) === 0))
    return new LockError(
      'INVALID_CLIENT',
      'Autocommit is off, so nobody else would see a lock – switch it on for this user or pool.',
      { cause },
    )
  const problem = tableFindings(dialect, table, described).find(
    ({ code, severity }) => severity === 'error' && FATAL.includes(code),
  )
  if (!problem) return undefined
  const code = problem.code === 'TABLE_MISSING' ? 'TABLE_MISSING' : 'TABLE_MISMATCH'
  return new LockError(code, problem.message, { cause })
}

/** All that is to be said about the described columns, each with all the SQL that fixes it, worst first. */
export function tableFindings(
  dialect: Dialect,
  table: LockTable,
  described: readonly Row[],
  zone?: string,
): TableFinding[] {
  const { names } = table
  const title = names.schema === undefined ? names.table : `${names.schema}.${names.table}`
  const fixes = new TableFixes(dialect, table, zone)
  if (described.length === 0) {
    return [
      {
        code: 'TABLE_MISSING',
        severity: 'error',
        message: `There is no lock table '${title}' that this connection can see – run the migration, or correct schema and tableName.`,
        fix: fixes.create(),
      },
    ]
  }
  const rows = new Map(described.map((row) => [String(row['column_name']).toLowerCase(), row]))
  return (Object.keys(names.columns) as LockColumn[])
    .flatMap((column) => columnFindings(dialect, title, names.columns[column], column, rows, fixes))
    .sort((one, other) => one.severity.localeCompare(other.severity))
}

function columnFindings(
  dialect: Dialect,
  title: string,
  name: string,
  column: LockColumn,
  rows: ReadonlyMap<string, Row>,
  fixes: TableFixes,
): TableFinding[] {
  const row = rows.get(name.toLowerCase())
  if (!row) {
    const message = `Table '${title}' has no column '${name}' – add it, or correct columnNames.${column}.`
    return [{ code: 'COLUMN_MISSING', severity: 'error', message, fix: fixes.addColumn(column) }]
  }
  const type = String(row['column_type'])
  const findings: TableFinding[] = []
  const add = (code: TableFindingCode, severity: TableFinding['severity'], what: string): void => {
    const message = `Column '${name}' of table '${title}' ${what} – make it '${dialect.ddl.columns[column]}'.`
    findings.push({ code, severity, message, fix: fixes.changeColumn(column, type) })
  }

  const doubt = dialect.doubtfulTypes?.find(({ pattern }) => pattern.test(type))
  if (!dialect.types[column].test(type)) {
    add('COLUMN_TYPE', 'error', `has type ${type}, under which two could hold one lock`)
  } else if (doubt) {
    add('COLUMN_TYPE', 'warning', `has type ${type}, ${doubt.why}`)
  }
  const length = told(row['max_length'])
  const needed = LENGTHS[column] ?? 0
  // SQL Server's varchar(max) is -1.
  if (length !== undefined && length > 0 && length < needed) {
    add('COLUMN_TOO_SHORT', 'error', `holds ${length} characters but needs ${needed}`)
  }
  if (told(row['nullable']) === 1) {
    add('COLUMN_NULLABLE', 'warning', 'may be null, and a row with null would be held for ever')
  }
  if (column === 'name' && told(row['unique_keys']) === 0) {
    const message = `Table '${title}' has no primary key and no unique index on '${name}' alone, so that two could hold one lock – add one.`
    findings.push({ code: 'KEY_MISSING', severity: 'error', message, fix: fixes.addKey() })
  }
  return findings
}

/** Drivers give whole numbers as number, bigint or text; a dialect whose `describe` does not tell, as nothing. */
function told(value: unknown): number | undefined {
  return value === undefined || value === null ? undefined : Number(value)
}
