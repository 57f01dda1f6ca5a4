import type { DialectName } from '../sql'

const numbered = (sign: string, first: number) => (position: number) => `${sign}${position + first}`

/** How TypeORM's driver for each database spells the hole for a value. */
export const PLACEHOLDERS: Readonly<Record<DialectName, (position: number) => string>> = {
  postgres: numbered('$', 1),
  cockroachdb: numbered('$', 1),
  mysql: () => '?',
  mariadb: () => '?',
  sqlite: () => '?',
  mssql: numbered('@', 0),
  oracle: numbered(':', 1),
}
