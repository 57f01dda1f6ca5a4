import type { DialectName } from '../../../src/sql/internal'
import { dialects, tableDefinition } from '../../../src/sql/internal'
import type { TcpProxy } from '../servers/tcp-proxy'

/** The database, and the user of the workers: an ordinary one, who may select, insert and update. */
export const APP = 'app'

/** Makes something happen; calls `reachable` when whoever connects anew, by this address or by any, finds a server that acquires locks; and ends when the cluster is whole again. */
export type Fault = (reachable: (address?: TcpProxy) => void) => Promise<void>

/** A row that somebody holds. */
export interface HeldRow {
  readonly name: string
  readonly lockedBy: string
}

/** Several servers with one database, behind one or more virtual addresses. */
export interface Cluster {
  /** With its replication, as the table says it. */
  readonly title: string
  readonly dialect: DialectName & ('postgres' | 'mariadb' | 'mysql')
  readonly version: string
  /** Workers take turns. */
  readonly addresses: readonly TcpProxy[]
  readonly faults: Readonly<Record<string, Fault>>
  /** Whether a failover may lose what was acknowledged: then overlaps are no violations, and have to be seen. */
  readonly loses: boolean
  /** What is held now, by the primary's clock. */
  heldRows(): Promise<HeldRow[]>
  close(): Promise<void>
}

/** A primary and its standby. */
export interface Pair extends Cluster {
  /** The address of the first group of workers. */
  readonly address: TcpProxy
  readonly ports: { readonly primary: number; readonly standby: number }
  /** On the primary, as its superuser. */
  execute(...statements: string[]): Promise<void>
  /** Whether a commit waits for the standby. */
  synchronous(on: boolean): Promise<void>
  /** The standby gets nothing, and nobody notices, until `true` comes again. */
  replicate(on: boolean): Promise<void>
  /** Kills the primary, makes the standby the primary, and leads the addresses there. */
  failOver(): Promise<void>
  /** The former primary comes back as the standby. */
  rejoin(): Promise<void>
}

/** The lock table, as its migration makes it. */
export const createLockTable = (dialect: Cluster['dialect']): readonly string[] =>
  tableDefinition(dialects[dialect]).up
