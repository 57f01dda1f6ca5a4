import type { DataSourceOptions } from 'typeorm'
import { servers } from '../../test/backends/servers'
import type { DialectName } from '../../src/sql/dialect'

/** How a process connects to its database. */
export interface Connection {
  readonly dialect: DialectName
  /** For SQLite, `file:` and the path. */
  readonly url: string
  /** Whether each statement runs in a serializable transaction, including those in autocommit. */
  readonly serializable?: boolean
  /** The maximum size of the connection pool. Default 5. */
  readonly max?: number
  /** Further options of the driver. */
  readonly driver?: object
}

/** Applies to every statement of a session, including those in autocommit. */
export const SERIALIZABLE_POSTGRES = '-c default_transaction_isolation=serializable'
export const SERIALIZABLE_MYSQL = 'set session transaction isolation level serializable'

/** Returns TypeORM's options for a connection. */
export function dataSourceOptions({
  dialect,
  url,
  serializable,
  max = 5,
  driver,
}: Connection): DataSourceOptions {
  // A short timeout, because the driver blocks the event loop while it waits for the file.
  if (dialect === 'sqlite')
    return { type: 'better-sqlite3', database: url.replace('file:', ''), timeout: 250, enableWAL: true }
  const server = servers.find(({ name }) => name === dialect)
  return {
    ...server?.typeOrm(url),
    poolSize: max,
    // mssql's pool calls its size `max`.
    ...(dialect === 'mssql' && { pool: { max } }),
    ...(dialect === 'postgres' && serializable && { extra: { options: SERIALIZABLE_POSTGRES } }),
    ...driver,
  } as DataSourceOptions
}
