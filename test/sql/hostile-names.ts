import type { LockTableOptions } from '../../src/sql'

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
