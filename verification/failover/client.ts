import * as app from '../workers/client'
import { APP } from '../servers/database-server'
import type { Cluster } from './cluster'

export { ORMS, type Orm } from '../workers/client'

/** How a process connects to its cluster. */
export interface ClusterClient {
  readonly orm: app.Orm
  readonly dialect: Cluster['dialect']
  readonly port: number
  /** The maximum size of the connection pool. */
  readonly max: number
  /** The time limit of one call, in milliseconds. Default: the library's. */
  readonly timeLimit?: number
}

/** In milliseconds. */
const LIMIT = 4_000
/** The limits that the pages recommend. */
const DRIVERS = {
  typeorm: { postgres: { connectTimeoutMS: LIMIT }, mysql: { connectTimeout: LIMIT } },
  prisma: {
    postgres: { connectionTimeoutMillis: LIMIT, query_timeout: LIMIT },
    // If an idle connection that the pool opened in reserve breaks, mariadb throws an error that cannot be caught. Keep few.
    mysql: { minimumIdle: 1, connectTimeout: LIMIT, socketTimeout: LIMIT },
  },
}

/** Returns how a process connects: with the ORM's defaults, except for the pool and the limits of its driver. */
export function clientOptions({ orm, dialect, port, max, timeLimit }: ClusterClient): app.ClientOptions {
  const [protocol, database] =
    dialect === 'postgres' ? (['postgres', 'postgres'] as const) : (['mysql', APP] as const)
  const url = `${protocol}://${APP}@127.0.0.1:${port}/${database}`
  return { orm, timeLimit, connection: { dialect, url, max, driver: DRIVERS[orm][protocol] } }
}

export function openClient(options: ClusterClient): Promise<app.Client> {
  return app.openClient(clientOptions(options))
}
