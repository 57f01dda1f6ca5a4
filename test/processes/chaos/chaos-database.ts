import type { DialectName } from '../../../src/sql/internal'
import type { Connection } from '../app/connection'
import type { TcpProxy } from '../servers/tcp-proxy'
import type { LockEvent } from '../history/events'

/** Databases that the harness cannot start itself. */
export type DialectByUrl = 'cockroachdb' | 'mssql' | 'oracle'

/** A setting that apps use: a statement that waits for a row or the table gets an error. */
export const IMPATIENT_POSTGRES = { extra: { options: '-c lock_timeout=200ms' } }

export interface ConnectionWishes {
  readonly serializable?: boolean
  /** Connect through a pooler that reassigns the server connection after each transaction. */
  readonly pooler?: boolean
}

/** A private database that faults may break. It omits the methods that it does not support or that would harm a shared server. */
export interface ChaosDatabase {
  readonly dialect: DialectName
  readonly version: string
  /** The proxy between the workers and the server. An embedded database has none. */
  readonly proxy?: TcpProxy
  readonly wishes: readonly (keyof ConnectionWishes)[]
  /** Returns a connection with the lock's own role, if the database has roles: it may only select, insert and update. */
  connection(wishes?: ConnectionWishes): Connection
  /** What triggers and tasks have recorded. */
  witness(): Promise<LockEvent[]>

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
