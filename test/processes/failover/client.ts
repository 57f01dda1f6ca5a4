import { DataSource } from 'typeorm'
import { prismaLockProvider } from '../../../src/prisma/internal'
import type { SqlLockProvider } from '../../../src/sql/internal'
import { typeOrmLockProvider } from '../../../src/typeorm/internal'
import { ADAPTERS, connect } from '../../prisma/adapters'
import { WORKER } from '../servers/tcp-proxy'
import { APP, type Cluster } from './cluster'

const LOCAL = '127.0.0.1'

export const ORMS = ['typeorm', 'prisma'] as const
export type Orm = (typeof ORMS)[number]

interface DriverLimits {
  readonly connect?: number
  readonly query?: number
}

/** The limits of the drivers, in milliseconds. `below` and `above` compare with the library's own, which is five seconds. */
const LIMITS = {
  default: () => ({}),
  /** What the pages recommend. */
  documented: (orm) => ({ connect: 4_000, ...(orm === 'prisma' && { query: 4_000 }) }),
  below: () => ({ connect: 2_500, query: 2_500 }),
  above: () => ({ connect: 10_000, query: 10_000 }),
} as const satisfies Record<string, (orm: Orm) => DriverLimits>
export type Settings = keyof typeof LIMITS
export const SETTINGS = Object.keys(LIMITS) as Settings[]

/** How a process connects to its cluster. */
export interface ClientOptions {
  readonly orm: Orm
  readonly dialect: Cluster['dialect']
  readonly host?: string
  readonly port: number
  /** Default: `documented`. */
  readonly settings?: Settings
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

/** Opens a client with the ORM's defaults, except for the pool and the limits of its driver. */
export function openClient(options: ClientOptions): Promise<Client> {
  return options.orm === 'typeorm' ? openTypeOrm(options) : openPrisma(options)
}

async function openTypeOrm(options: ClientOptions): Promise<Client> {
  const { dialect, host = LOCAL, port, max, timeLimit, settings = 'documented' } = options
  const { connect: connectTimeout, query }: DriverLimits = LIMITS[settings]('typeorm')
  const server = { host, port, username: APP, poolSize: max }
  const dataSource = await new DataSource(
    dialect === 'postgres'
      ? {
          type: dialect,
          ...server,
          database: 'postgres',
          ...(connectTimeout && { connectTimeoutMS: connectTimeout }),
          extra: { query_timeout: query },
        }
      : { type: dialect, ...server, database: APP, ...(connectTimeout && { connectTimeout }) },
  ).initialize()
  return {
    provider: typeOrmLockProvider(dataSource, { lockedBy: WORKER, timeLimit }),
    query: (text) => dataSource.query(text),
    close: () => dataSource.destroy(),
  }
}

async function openPrisma(options: ClientOptions): Promise<Client> {
  const { dialect, host = LOCAL, port, max, timeLimit, settings = 'documented' } = options
  const adapter = ADAPTERS.find(({ backend }) => backend === dialect)
  if (!adapter) throw new Error(`Prisma has no adapter for ${dialect}.`)
  const { connect: connectTimeout, query }: DriverLimits = LIMITS[settings]('prisma')
  const [url, pool] =
    dialect === 'postgres'
      ? [
          `postgres://${APP}@${host}:${port}/postgres`,
          { max, connectionTimeoutMillis: connectTimeout, query_timeout: query },
        ]
      : [
          `mysql://${APP}@${host}:${port}/${APP}`,
          {
            connectionLimit: max,
            // If an idle connection that the pool opened in reserve breaks, mariadb throws an error that cannot be caught. Keep few.
            ...(settings !== 'default' && { minimumIdle: 1 }),
            ...(connectTimeout && { connectTimeout }),
            ...(query && { socketTimeout: query }),
          },
        ]
  const client = await connect(adapter, url, pool)
  return {
    provider: prismaLockProvider(client, { lockedBy: WORKER, timeLimit }),
    query: async (text) => client.$queryRawUnsafe(text),
    close: () => client.$disconnect(),
  }
}
