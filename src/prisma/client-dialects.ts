import { drivers, numbered, type Driver } from '../drivers'
import type { DialectName } from '../sql'

/** Prisma's names for the databases that have a dialect here: of the schema's `provider`, and of the driver adapters. */
export const CLIENT_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgresql: 'postgres',
  postgres: 'postgres',
  cockroachdb: 'cockroachdb',
  // MySQL's and MariaDB's are one and the same to Prisma, and to the lock.
  mysql: 'mysql',
  sqlite: 'sqlite',
  sqlserver: 'mssql',
}

/** Prisma hands raw SQL on to the driver as it is, and names the values for SQL Server by itself. */
export function placeholderOf(dialect: DialectName): Driver['placeholder'] {
  return dialect === 'mssql' ? numbered('@P', 1) : drivers[dialect].placeholder
}

/** The targets of Prisma 8's contracts. */
export const PRISMA_8_DIALECTS: Readonly<Record<string, DialectName>> = {
  postgres: 'postgres',
}
