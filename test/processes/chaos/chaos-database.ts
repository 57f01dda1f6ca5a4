import type { DataSourceOptions } from 'typeorm'
import { servers } from '../../backends/servers'
import type { TcpProxy } from '../servers/tcp-proxy'
import type { Witness } from './witness'

/** Those that the harness does not start itself. */
export type DialectByUrl = 'cockroachdb' | 'mssql' | 'oracle'

/** How a worker reaches the database. */
export type WorkerConnection = ConnectionByParts | { readonly dialect: DialectByUrl; readonly url: string }

export interface ConnectionByParts {
  readonly dialect: 'postgres' | 'mariadb' | 'mysql' | 'sqlite'
  readonly host: string
  readonly port: number
  readonly user: string
  /** The file, for SQLite. */
  readonly database: string
  readonly serializable: boolean
}

/** For every statement of a session, those in autocommit too. */
export const SERIALIZABLE_POSTGRES = '-c default_transaction_isolation=serializable'
/** As apps have it: whoever waits for a row or the table gets an error. */
export const IMPATIENT_POSTGRES = '-c lock_timeout=200ms'
export const SERIALIZABLE_MYSQL = 'set session transaction isolation level serializable'

/** For TypeORM. */
export function dataSourceOptions(connection: WorkerConnection): DataSourceOptions {
  if ('url' in connection) {
    const server = servers.find(({ name }) => name === connection.dialect)
    // mssql's pool has its own word for its size.
    return { ...server?.typeOrm(connection.url), poolSize: 5, pool: { max: 5 } } as DataSourceOptions
  }
  const { dialect, host, port, user, database, serializable } = connection
  // The driver waits for the file with a frozen event loop, so not for long.
  if (dialect === 'sqlite') return { type: 'better-sqlite3', database, timeout: 250, enableWAL: true }
  const options = { host, port, username: user, database, poolSize: 5 }
  if (dialect !== 'postgres') return { type: dialect, ...options }
  return {
    type: 'postgres',
    ...options,
    extra: { options: serializable ? SERIALIZABLE_POSTGRES : IMPATIENT_POSTGRES },
  }
}

export interface ConnectionWishes {
  readonly serializable?: boolean
  /** Through a pooler that gives the connection away after each transaction. */
  readonly pooler?: boolean
}

/** A private database, which may be broken in every way. What it cannot do, or its server may not suffer, is left out. */
export interface ChaosDatabase {
  readonly dialect: WorkerConnection['dialect']
  readonly version: string
  /** Between the workers and the server; an embedded database has none. */
  readonly proxy?: TcpProxy
  readonly wishes: readonly (keyof ConnectionWishes)[]
  /** As the lock's own role, where there is one: it may select, insert and update, and no more. */
  connection(wishes?: ConnectionWishes): WorkerConnection
  witness(): Promise<Witness>

  deleteRows?(): Promise<void>
  truncate?(): Promise<void>
  dropAndCreate?(): Promise<void>
  /** Nobody gets at the lock table until the work is done. */
  withTableLocked?(work: () => Promise<void>): Promise<void>
  withTableAltered?(work: () => Promise<void>): Promise<void>
  restart?(): Promise<void>
  withReadOnly?(work: () => Promise<void>): Promise<void>
  withRecovery?(work: () => Promise<void>): Promise<void>
  withDiskFull?(work: () => Promise<void>): Promise<void>
  /** The lock's role may read the table, but not change it. */
  withoutPrivileges?(work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}
