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
