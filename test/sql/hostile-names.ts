import { dialects, type DialectName, type LockTableOptions } from '../../src/sql/internal'

/** Quotes, reserved words, what ends a statement or a comment, and letters that are folded when they are not quoted. */
export const hostileNames = {
  tableName: `Lock's; "drop" \`table\` [x] -- /*`,
  columnNames: {
    name: 'Select',
    lockUntil: `until "o'clock"`,
    lockedAt: 'locked\\At',
    lockedBy: 'größe `by`',
  },
} as const satisfies LockTableOptions

/** The same, without what the database cannot have in a name. */
export function hostileNamesOn(name: DialectName): typeof hostileNames {
  const { notInIdentifiers = /(?!)/ } = dialects[name]
  const text = JSON.stringify(hostileNames, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(new RegExp(notInIdentifiers, 'gu'), '') : value,
  )
  return JSON.parse(text) as typeof hostileNames
}
