import type { LockTableOptions } from '../sql/internal'
import { OPTIONS, type Flags, type NameOption, type OptionName } from './options'

// Code and the command line name the same options differently.

/** Maps the names in code to flags. */
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

/** Replaces the names of options in a message by those of flags. */
export function inFlags(message: string): string {
  return Object.entries(IN_CODE).reduce((text, [inCode, name]) => {
    const flag = `${/--[a-z-]+/.exec(OPTIONS[name].flags)?.[0] ?? ''}${/ \w+$/.exec(inCode)?.[0] ?? ''}`
    return text.replace(new RegExp(`(?<![\\w.'-])${inCode}\\b(?!')`, 'g'), flag)
  }, message)
}

/** Converts the flags for the table and its columns to the options in code. */
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
