import type { DialectName } from '../sql'

const numbered = (sign: string) => (position: number) => `${sign}${position + 1}`

/** How the driver of each database spells the hole for a value: Prisma hands raw SQL on as it is. */
export const PLACEHOLDERS: Readonly<Record<DialectName, (position: number) => string>> = {
  postgres: numbered('$'),
  cockroachdb: numbered('$'),
  mysql: () => '?',
  mariadb: () => '?',
  sqlite: () => '?',
  mssql: numbered('@P'),
  oracle: numbered(':'),
}
