import type { SessionSettings } from '../conformance/session-settings'
import type { DialectName } from '../../src/sql/internal'

const MYSQL: readonly SessionSettings[] = [{}, { sql_mode: 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES' }]
const POSTGRES: readonly SessionSettings[] = [{}, { standard_conforming_strings: 'off' }]

const MODES: Readonly<Partial<Record<DialectName, readonly SessionSettings[]>>> = {
  mysql: MYSQL,
  mariadb: MYSQL,
  postgres: POSTGRES,
  cockroachdb: POSTGRES,
}

/** Settings that change what a quote or a backslash means in SQL. */
export function quotingModes(dialect: DialectName): readonly SessionSettings[] {
  return MODES[dialect] ?? [{}]
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
