import { randomBytes } from 'node:crypto'
import { DataSource, type Logger } from 'typeorm'
import { prismaLockProvider } from '../src/prisma/prisma-lock-provider'
import type { SqlLockProvider, SqlLockProviderOptions } from '../src/sql/sql-lock-provider'
import { createShedLockMigration } from '../src/typeorm/migration'
import { typeOrmLockProvider } from '../src/typeorm/typeorm-lock-provider'
import { ADAPTERS, connect } from '../test/prisma/adapters'
import { generateClients } from '../test/prisma/generate-clients'

/** The servers, by their names in BACKENDS. */
export const SERVERS = {
  postgres: process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  mariadb: process.env['MARIADB_URL'] ?? 'mysql://root@127.0.0.1:3306/mysql',
  mysql: process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3307/mysql',
} as const
export type ServerName = keyof typeof SERVERS
export const ORMS = ['TypeORM', 'Prisma'] as const
export type Orm = (typeof ORMS)[number]

/** The servers that BACKENDS names; default all of them. */
export function wantedServers(): ServerName[] {
  const wanted = process.env['BACKENDS']?.split(',')
  return (Object.keys(SERVERS) as ServerName[]).filter((name) => !wanted || wanted.includes(name))
}

/** Which connections the locks use: their own, those of the app's client, or those of a client for locks alone. */
export const WAYS = ['own', 'app', 'client'] as const
export type Way = (typeof WAYS)[number]

/** An app with one ORM. */
export interface App {
  /** How many errors its ORM has logged. */
  readonly errors: () => number
  readonly provider: SqlLockProvider
  /** Runs a statement as the app does. */
  query(statement: string): Promise<unknown>
  close(): Promise<unknown>
}

/** A database of its own, with a lock table. */
export interface OwnDatabase {
  readonly url: URL
  readonly observer: DataSource
  drop(): Promise<void>
}

export async function createDatabase(server: ServerName): Promise<OwnDatabase> {
  await generateClients()
  const name = `shedlock_${randomBytes(6).toString('hex')}`
  const url = new URL(SERVERS[server])
  const open = async (more: object = {}): Promise<DataSource> =>
    new DataSource({ type: server, url: url.href, ...more }).initialize()
  const admin = await open()
  await admin.query(`create database ${name}`)
  url.pathname = `/${name}`
  const observer = await open({ migrations: [createShedLockMigration()], migrationsRun: true })
  const drop = async (): Promise<void> => {
    // Somebody may have ended its connections.
    await observer.destroy().catch(() => undefined)
    await admin.query(`drop database ${name}${server === 'postgres' ? ' with (force)' : ''}`)
    await admin.destroy()
  }
  return { url, observer, drop }
}

/**
 * @param poolSize how many connections the app may have
 * @param extra more settings of the driver's pool
 */
export async function openApp(
  orm: Orm,
  server: ServerName,
  url: URL,
  poolSize: number,
  options: SqlLockProviderOptions = {},
  extra: object = {},
  way: Way = process.env['OWN_CONNECTIONS'] === '0' ? 'app' : 'own',
): Promise<App> {
  if (way === 'client') {
    const app = await openApp(orm, server, url, poolSize, options, extra)
    const ofLocks = await openApp(orm, server, url, 2, { ...options, ownConnections: 0 })
    const close = () => Promise.all([app.close(), ofLocks.close()])
    return { ...app, provider: ofLocks.provider, close }
  }
  if (way === 'app') options = { ...options, ownConnections: 0 }
  let logged = 0
  const count = (): void => {
    logged++
  }
  const errors = (): number => logged
  if (orm === 'TypeORM') {
    const silent = (): void => undefined
    const logger: Logger = {
      logQueryError: count,
      ...{
        logQuery: silent,
        logQuerySlow: silent,
        logSchemaBuild: silent,
        logMigration: silent,
        log: silent,
      },
    }
    const dataSource = await new DataSource({
      ...{ type: server, url: url.href, poolSize, extra, logger },
      logging: ['error'],
    }).initialize()
    return {
      errors,
      provider: typeOrmLockProvider(dataSource, options),
      query: (statement) => dataSource.query(statement),
      close: () => dataSource.destroy(),
    }
  }
  const adapter = ADAPTERS.find(({ backends }) => backends.test(server))
  if (!adapter) throw new Error(`Prisma has no adapter for ${server}.`)
  const pool = { max: poolSize, connectionLimit: poolSize, ...extra }
  const prisma = await connect(adapter, url.href, pool, { log: [{ level: 'error', emit: 'event' }] })
  prisma.$on?.('error', count)
  const hidesSettings = way === 'own' && server !== 'postgres'
  const text = { connectionLimit: 1, adapter: { useTextProtocol: true } }
  const own = hidesSettings && { adapter: (await adapter.make(url.href, text)) as never }
  return {
    errors,
    provider: prismaLockProvider(prisma, { ...options, ...own }),
    query: (statement) => prisma.$queryRawUnsafe(statement) as Promise<unknown>,
    close: () => prisma.$disconnect(),
  }
}

/** The share of a list below which a number is, such as 0.99. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}
