import { type DialectName, dialects, type LockTableOptions } from '../../src/sql/internal'

/** Quotes, reserved words, what ends a statement, a block or a comment, and letters that are folded when they are not quoted. */
export const hostileNames = {
  tableName: `Lock's; "drop" \`table\` [x] $shedlock$ -- /*`,
  columnNames: {
    name: 'Select',
    lockUntil: `until "o'clock"`,
    lockedAt: 'locked\\At',
    lockedBy: 'größe `by`',
  },
} as const satisfies LockTableOptions

/** The same names, without what the database cannot have in one. Spanner takes a column that is called as its table for the row. */
export function allowedNames(dialect: DialectName, names: LockTableOptions): LockTableOptions {
  const refused = dialects[dialect].notInIdentifiers
  if (!refused) return names
  const end = dialect === 'spanner' ? '_' : ''
  const allowed = (name = ''): string => name.replaceAll(new RegExp(refused, 'gu'), '_')
  const columns = Object.entries(names.columnNames ?? {}).map(([role, name]) => [role, allowed(name) + end])
  return { tableName: allowed(names.tableName), columnNames: Object.fromEntries(columns) as object }
}
