import type { Command } from 'commander'
import type { LockTableOptions } from '../sql'

/** As commander gives them. */
export interface NameFlags {
  readonly schema?: string
  readonly table?: string
  readonly columnName?: string
  readonly columnLockUntil?: string
  readonly columnLockedAt?: string
  readonly columnLockedBy?: string
}

/** The names of table and columns, as the same options in code. */
export function addNameOptions(command: Command): Command {
  return command
    .optionsGroup('Names of the table (as in your code):')
    .option('--schema <name>', 'schema; MySQL: database (default: the one of the connection)')
    .option('--table <name>', 'table (default: shedlock)')
    .option('--column-name <name>', 'column of the name (default: name)')
    .option('--column-lock-until <name>', 'column of the end of the lease (default: lock_until)')
    .option('--column-locked-at <name>', 'column of the time of locking (default: locked_at)')
    .option('--column-locked-by <name>', 'column of the owner (default: locked_by)')
}

export function lockTableOptions(flags: NameFlags): LockTableOptions {
  const given = <T extends object>(options: T): T =>
    Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
  const columnNames = given({
    name: flags.columnName,
    lockUntil: flags.columnLockUntil,
    lockedAt: flags.columnLockedAt,
    lockedBy: flags.columnLockedBy,
  }) as NonNullable<LockTableOptions['columnNames']>
  return given({
    schema: flags.schema,
    tableName: flags.table,
    columnNames: Object.keys(columnNames).length > 0 ? columnNames : undefined,
  })
}
