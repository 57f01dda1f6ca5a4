import { mariadbDatabase } from './mariadb-database'
import { postgresDatabase } from './postgres-database'
import { sqliteDatabase } from './sqlite-database'

/** Each makes a private database, with the lock table and a resource for each of the names. */
export const DATABASES = { postgres: postgresDatabase, mariadb: mariadbDatabase, sqlite: sqliteDatabase }
