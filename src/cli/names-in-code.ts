import type { LockTableOptions } from '../sql/internal'
import { OPTIONS, type Flags, type NameOption, type OptionName } from './options'

// Code and the command line have names of their own for the same options.

/** The flags for what code calls by these names. */
const IN_CODE: Readonly<Record<string, OptionName>> = {
  'columnNames.name': 'columnName',
  'columnNames.lockUntil': 'columnLockUntil',
  'columnNames.lockedAt': 'columnLockedAt',
  'columnNames.lockedBy': 'columnLockedBy',
  'keepAlive.atMost': 'keepAliveAtMost',
  keepAlive: 'keepAlive',
  lockAtLeastFor: 'lockAtLeastFor',
  lockAtMostFor: 'lockAtMostFor',
  'schema and': 'schema',
  'schema to': 'schema',
  tableName: 'table',
}

/** Replaces the options in a message that was written for code by the flags of the command line. */
export function inFlags(message: string): string {
  return Object.entries(IN_CODE).reduce((text, [inCode, name]) => {
    const flag = `${/--[a-z-]+/.exec(OPTIONS[name].flags)?.[0] ?? ''}${/ \w+$/.exec(inCode)?.[0] ?? ''}`
    return text.replace(new RegExp(`(?<![\\w.'-])${inCode}\\b(?!')`, 'g'), flag)
  }, message)
}

/** The names of table and columns, as the options in code have them. */
export function lockTableOptions(flags: Flags<NameOption>): LockTableOptions {
  const { schema, table: tableName, columnName: name, columnLockUntil: lockUntil } = flags
  const { columnLockedAt: lockedAt, columnLockedBy: lockedBy } = flags
  const columnNames = given({ name, lockUntil, lockedAt, lockedBy })
  const hasColumns = Object.keys(columnNames).length > 0
  return given({ schema, tableName, columnNames: hasColumns ? columnNames : undefined })
}

function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
