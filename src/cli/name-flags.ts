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

/** The names of table and columns, as the options in code have them. */
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
