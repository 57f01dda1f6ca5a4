import type { TcpProxy } from './tcp-proxy'
import type { Witness } from './witness'

/** How a worker reaches the database. */
export interface WorkerConnection {
  readonly dialect: 'postgres' | 'mariadb' | 'mysql' | 'sqlite'
  readonly host: string
  readonly port: number
  readonly user: string
  /** The file, for SQLite. */
  readonly database: string
  readonly serializable: boolean
}

/** Begins the owner's text of every lock. */
export const WORKER = 'chaos-worker'

/** For every statement of a session, those in autocommit too. */
export const SERIALIZABLE_POSTGRES = '-c default_transaction_isolation=serializable'
export const SERIALIZABLE_MYSQL = 'set session transaction isolation level serializable'

export interface ConnectionWishes {
  readonly serializable?: boolean
  /** Through a pooler that gives the connection away after each transaction. */
  readonly pooler?: boolean
}

/** A private database, which may be broken in every way. What it cannot do is left out. */
export interface ChaosDatabase {
  readonly dialect: WorkerConnection['dialect']
  readonly version: string
  /** Between the workers and the server; an embedded database has none. */
  readonly proxy?: TcpProxy
  readonly wishes: readonly (keyof ConnectionWishes)[]
  /** As the lock's own role: it may select, insert and update, and no more. */
  connection(wishes?: ConnectionWishes): WorkerConnection
  witness(): Promise<Witness>

  deleteRows(): Promise<void>
  truncate(): Promise<void>
  dropAndCreate(): Promise<void>
  /** Nobody gets at the lock table until the work is done. */
  withTableLocked(work: () => Promise<void>): Promise<void>
  withTableAltered?(work: () => Promise<void>): Promise<void>
  restart?(): Promise<void>
  withReadOnly?(work: () => Promise<void>): Promise<void>
  withRecovery?(work: () => Promise<void>): Promise<void>
  withDiskFull?(work: () => Promise<void>): Promise<void>
  /** The lock's role may read the table, but not change it. */
  withoutPrivileges?(work: () => Promise<void>): Promise<void>
  close(): Promise<void>
}
