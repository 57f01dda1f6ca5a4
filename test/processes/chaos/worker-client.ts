import { LockError, type LockProvider } from '../../../src/core/internal'
import { drivers } from '../../../src/drivers/internal'
import { providerOf } from '../../core/provider-of'
import type { Break } from './break-statements'
import type { WorkerConnection } from './chaos-database'
import { prismaClient } from './prisma-client'
import { typeOrmClient } from './typeorm-client'

/** A worker's access to the library: an ORM with its lock provider, its transactions and its guard. */
export interface WorkerClient {
  readonly provider: LockProvider
  transaction<T>(work: (transaction: WorkerTransaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

interface WorkerTransaction {
  /** @param statement with `?` for values */
  execute(statement: string, values: readonly unknown[]): Promise<void>
  rows(statement: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>
  guard(): Promise<void>
}

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

/** Returns the ORMs that support the database. Prisma does not support Oracle. */
export function ormsOf(db: string): readonly Orm[] {
  return db === 'oracle' ? ['typeorm'] : ORMS
}

export interface WorkerClientOptions {
  readonly orm: Orm
  readonly connection: WorkerConnection
  readonly timeLimit: number
  readonly broken: Break | undefined
}

export async function workerClient(options: WorkerClientOptions): Promise<WorkerClient> {
  const client = await (options.orm === 'typeorm' ? typeOrmClient(options) : prismaClient(options))
  return options.broken === 'busy' ? { ...client, provider: neverBusy(client.provider) } : client
}

/** Breaks a provider: it refuses a lock as held when the database was too busy to answer. */
function neverBusy(provider: LockProvider): LockProvider {
  return providerOf((...all) =>
    provider.acquire(...all).catch((error: unknown) => {
      if (error instanceof LockError && error.message.includes('too busy')) return { reason: 'held' }
      throw error
    }),
  )
}

/** Replaces each `?` by the client's placeholder. Default: the placeholder of TypeORM's driver. */
export function spelled(
  statement: string,
  dialect: WorkerConnection['dialect'],
  placeholder = drivers[dialect].placeholder,
): string {
  let position = 0
  return statement.replace(/\?/g, () => placeholder(position++))
}
