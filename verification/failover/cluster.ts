import type { DialectName } from '../../src/sql/dialect'
import type { TcpProxy } from '../../test/backends/tcp-proxy'

/**
 * Injects a fault and resolves when the cluster is whole again. Meanwhile it calls `reachable` when new connections to an address, or
 * to any address if none is given, lead to a server on which locks can be acquired.
 */
export type Fault = (reachable: (address?: TcpProxy) => void) => Promise<void>

/** Several servers that replicate one database, behind one or more virtual addresses. */
export interface Cluster {
  /** The name of the cluster and its kind of replication, for the report. */
  readonly title: string
  readonly dialect: DialectName & ('postgres' | 'mariadb' | 'mysql')
  readonly version: string
  /** The virtual addresses, among which the workers are distributed. */
  readonly addresses: readonly TcpProxy[]
  readonly faults: Readonly<Record<string, Fault>>
  /** Whether a failover may lose acknowledged writes. A run must then show overlaps, to prove that the harness detects them. */
  readonly loses: boolean
  /** Returns the owners of the rows that are held now, by the primary's clock. */
  heldBy(): Promise<string[]>
  close(): Promise<void>
}

/** A primary and its standby. */
export interface Pair extends Cluster {
  /** The address of the first group of workers. */
  readonly address: TcpProxy
  readonly ports: { readonly primary: number; readonly standby: number }
  /** Executes statements on the primary as its superuser. */
  execute(...statements: string[]): Promise<unknown>
  /** Sets whether a commit waits for the standby. */
  synchronous(on: boolean): Promise<void>
  /** Stops replication without closing its connections (`false`), or resumes it (`true`). */
  replicate(on: boolean): Promise<void>
}
