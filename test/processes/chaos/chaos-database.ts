import type { DataSourceOptions } from 'typeorm'
import { servers } from '../../backends/servers'
import type { TcpProxy } from '../servers/tcp-proxy'
import type { Witness } from './witness'

/** Databases that the harness cannot start itself. */
export type DialectByUrl = 'cockroachdb' | 'mssql' | 'oracle'

/** How a worker connects to the database. */
export type WorkerConnection = ConnectionByParts | { readonly dialect: DialectByUrl; readonly url: string }

export interface ConnectionByParts {
  readonly dialect: 'postgres' | 'mariadb' | 'mysql' | 'sqlite'
  readonly host: string
  readonly port: number
  readonly user: string
  /** For SQLite, the path of the file. */
  readonly database: string
  readonly serializable: boolean
}

/** Applies to every statement of a session, including those in autocommit. */
export const SERIALIZABLE_POSTGRES = '-c default_transaction_isolation=serializable'
/** A setting that apps use: a statement that waits for a row or the table gets an error. */
export const IMPATIENT_POSTGRES = '-c lock_timeout=200ms'
export const SERIALIZABLE_MYSQL = 'set session transaction isolation level serializable'

/** Returns TypeORM's options for a connection. */
export function dataSourceOptions(connection: WorkerConnection): DataSourceOptions {
  if ('url' in connection) {
    const server = servers.find(({ name }) => name === connection.dialect)
    // mssql's pool calls its size `max`.
    return { ...server?.typeOrm(connection.url), poolSize: 5, pool: { max: 5 } } as DataSourceOptions
  }
  const { dialect, host, port, user, database, serializable } = connection
  // A short timeout, because the driver blocks the event loop while it waits for the file.
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
  /** Connect through a pooler that reassigns the server connection after each transaction. */
  readonly pooler?: boolean
}

/** A private database that faults may break. It omits the methods that it does not support or that would harm a shared server. */
export interface ChaosDatabase {
  readonly dialect: WorkerConnection['dialect']
  readonly version: string
  /** The proxy between the workers and the server. An embedded database has none. */
  readonly proxy?: TcpProxy
  readonly wishes: readonly (keyof ConnectionWishes)[]
  /** Returns a connection with the lock's own role, if the database has roles: it may only select, insert and update. */
  connection(wishes?: ConnectionWishes): WorkerConnection
  witness(): Promise<Witness>

  deleteRows?(): Promise<void>
  truncate?(): Promise<void>
  dropAndCreate?(): Promise<void>
  /** Locks the lock table against all other sessions until the work is done. */
  withTableLocked?(work: () => Promise<void>): Promise<void>
  withTableAltered?(work: () => Promise<void>): Promise<void>
  restart?(): Promise<void>
  withReadOnly?(work: () => Promise<void>): Promise<void>
  withRecovery?(work: () => Promise<void>): Promise<void>
  withDiskFull?(work: () => Promise<void>): Promise<void>
  /** Lets the lock's role read the table but not change it until the work is done. */
  withoutPrivileges?(work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}
