import { DataSource } from 'typeorm'
import { prismaLockProvider } from '../../../src/prisma/internal'
import type { SqlLockProvider } from '../../../src/sql/internal'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'
import { ADAPTERS, connect } from '../../prisma/adapters'
import { WORKER } from '../servers/tcp-proxy'
import { APP, type Cluster } from './cluster'

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

/** How a process connects to its cluster. */
export interface ClientOptions {
  readonly orm: Orm
  readonly dialect: Cluster['dialect']
  readonly port: number
  /** The maximum size of the connection pool. */
  readonly max: number
  /** The time limit of one call, in milliseconds. Default: the library's. */
  readonly timeLimit?: number
}

/** An app's database client, and a lock provider that uses it. */
export interface Client {
  readonly provider: SqlLockProvider
  /** Runs a query of the app. */
  query(text: string): Promise<unknown>
  close(): Promise<unknown>
}

/** Opens a client with the ORM's defaults, except for the pool and its timeouts. */
export function openClient(options: ClientOptions): Promise<Client> {
  return options.orm === 'typeorm' ? openTypeOrm(options) : openPrisma(options)
}

async function openTypeOrm({ dialect, port, max, timeLimit }: ClientOptions): Promise<Client> {
  const database = dialect === 'postgres' ? 'postgres' : APP
  const options = { type: dialect, host: '127.0.0.1', port, username: APP, database, poolSize: max }
  const dataSource = await new DataSource(options).initialize()
  return {
    provider: typeOrmLockProvider(dataSource, { lockedBy: WORKER, timeLimit }),
    query: (text) => dataSource.query(text),
    close: () => dataSource.destroy(),
  }
}

async function openPrisma({ dialect, port, max, timeLimit }: ClientOptions): Promise<Client> {
  const adapter = ADAPTERS.find(({ backend }) => backend === dialect)
  if (!adapter) throw new Error(`Prisma has no adapter for ${dialect}.`)
  const url =
    dialect === 'postgres'
      ? `postgres://${APP}@127.0.0.1:${port}/postgres`
      : `mysql://${APP}@127.0.0.1:${port}/${APP}`
  // If an idle connection that the pool opened in reserve breaks, mariadb throws an error that cannot be caught. Keep few of them.
  const pool =
    dialect === 'postgres'
      ? { max, query_timeout: 4_000 }
      : { connectionLimit: max, minimumIdle: 1, socketTimeout: 4_000 }
  const client = await connect(adapter, url, pool)
  return {
    provider: prismaLockProvider(client, { lockedBy: WORKER, timeLimit }),
    query: async (text) => client.$queryRawUnsafe(text),
    close: () => client.$disconnect(),
  }
}
