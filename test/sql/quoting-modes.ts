import type { SessionSettings } from '../conformance/session-settings'
import type { DialectName } from '../../src/sql/dialect'

/** Settings that change what a quote or a backslash means in SQL, beside none. */
export function quotingModes(dialect: DialectName): readonly SessionSettings[] {
  if (dialect === 'mysql' || dialect === 'mariadb')
    return [{}, { sql_mode: 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES' }]
  return dialect === 'postgres' || dialect === 'cockroachdb'
    ? [{}, { standard_conforming_strings: 'off' }]
    : [{}]
}

/** Names that are SQL, or would be another name, if one of them ever became text of a statement. */
export const HOSTILE_LOCK_NAMES: readonly string[] = [
  `y' or 1=1 -- z`,
  `y\\' or 1=1 -- z`,
  `'; drop table shedlock; --`,
  `it''s`,
  `it's`,
  'back\\slash',
  'back\\\\slash',
  'backslash',
  'ends with\\',
  `"q"`,
  '`b`',
  '%_',
  '$1 ? :1 @0',
  '\\x27\\047\\u0027',
  'żółć 日本 😀',
  // Some collations take these for one.
  ...['größe', 'Größe', 'grösse', 'gro\u0308ße'],
]
