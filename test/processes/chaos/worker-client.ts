import type { LockProvider } from '../../../src/core'
import type { Break } from './break-statements'
import type { WorkerConnection } from './chaos-database'
import { prismaClient } from './prisma-client'
import { typeOrmClient } from './typeorm-client'

/** One way to use the library: an ORM with its lock provider, its transactions and its guard. */
export interface WorkerClient {
  readonly provider: LockProvider
  transaction<T>(work: (transaction: WorkerTransaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface WorkerTransaction {
  /** @param statement with `?` for values */
  execute(statement: string, values: readonly unknown[]): Promise<void>
  rows(statement: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>
  guard(): Promise<void>
}

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

export interface WorkerClientOptions {
  readonly orm: Orm
  readonly connection: WorkerConnection
  readonly timeLimit: number
  readonly broken: Break | undefined
}

export function workerClient(options: WorkerClientOptions): Promise<WorkerClient> {
  return options.orm === 'typeorm' ? typeOrmClient(options) : prismaClient(options)
}

/** Spells `?` as the database's drivers want it. */
export function spelled(statement: string, dialect: WorkerConnection['dialect']): string {
  let position = 0
  return dialect === 'postgres' ? statement.replace(/\?/g, () => `$${++position}`) : statement
}
