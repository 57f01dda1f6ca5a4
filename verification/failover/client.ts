import * as app from '../workers/client'
import { HOST } from '../workers/plan'
import { APP } from '../servers/database-server'
import type { Cluster } from './cluster'

export { ORMS, type Orm } from '../workers/client'

interface DriverLimits {
  readonly connect?: number
  readonly query?: number
}

/** The limits of the drivers, in milliseconds. */
const LIMITS = {
  default: () => ({}),
  /** What the pages recommend. */
  documented: (orm) => ({ connect: 4_000, ...(orm === 'prisma' && { query: 4_000 }) }),
} as const satisfies Record<string, (orm: app.Orm) => DriverLimits>
export type Settings = keyof typeof LIMITS
export const SETTINGS = Object.keys(LIMITS) as Settings[]

/** How a process connects to its cluster. */
export interface ClusterClient {
  readonly orm: app.Orm
  readonly dialect: Cluster['dialect']
  readonly port: number
  /** Default: `documented`. */
  readonly settings?: Settings
  /** The maximum size of the connection pool. */
  readonly max: number
  /** The time limit of one call, in milliseconds. Default: the library's. */
  readonly timeLimit?: number
}

/** Returns how a process of its own connects, by the name of the host. */
export function clientOptions(options: ClusterClient, host = HOST): app.ClientOptions {
  const { orm, dialect, port, max, timeLimit, settings = 'documented' } = options
  const [scheme, database] = dialect === 'postgres' ? ['postgres', 'postgres'] : ['mysql', APP]
  const url = `${scheme}://${APP}@${host}:${port}/${database}`
  return { orm, timeLimit, connection: { dialect, url, max, driver: driverOptions(orm, dialect, settings) } }
}

function driverOptions(orm: app.Orm, dialect: Cluster['dialect'], settings: Settings): object {
  const { connect, query }: DriverLimits = LIMITS[settings](orm)
  if (dialect === 'postgres')
    return orm === 'typeorm'
      ? { ...(connect && { connectTimeoutMS: connect }), extra: { query_timeout: query } }
      : { connectionTimeoutMillis: connect, query_timeout: query }
  const limits = connect && { connectTimeout: connect }
  if (orm === 'typeorm') return { ...limits }
  return {
    // If an idle connection that the pool opened in reserve breaks, mariadb throws an error that cannot be caught. Keep few.
    ...(settings !== 'default' && { minimumIdle: 1 }),
    ...limits,
    ...(query && { socketTimeout: query }),
  }
}

/** Opens a client in this process with the ORM's defaults, except for the pool and the limits of its driver. */
export function openClient(options: ClusterClient): Promise<app.Client> {
  return app.openClient(clientOptions(options, '127.0.0.1'))
}
