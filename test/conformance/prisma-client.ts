import { prismaLockProvider, type RawClientLike } from '../../src/prisma/internal'
import type { PrismaBackend, PrismaTestDatabase, TestClient } from '../prisma/clients'
import type { SqlClient } from './sql-environment'
import { OFFSETS } from './zone-offsets'

const POOLS = 4

type Options = Readonly<Record<string, unknown>>

/** What differs from one adapter to another. */
interface Session {
  readonly pool: Options
  /** Options for sessions that have this time zone. */
  readonly inZone?: (zone: string) => Options
}

const postgresql: Session = { pool: { max: 3 }, inZone: (zone) => ({ options: `-c TimeZone=${zone}` }) }

const SESSIONS: Readonly<Record<PrismaBackend['provider'], Session>> = {
  postgresql,
  cockroachdb: postgresql,
  mysql: {
    pool: { connectionLimit: 3 },
    inZone: (zone) => ({ initSql: `set time_zone = '${OFFSETS[zone] ?? zone}'` }),
  },
  sqlserver: { pool: { pool: { max: 3 } } },
  sqlite: { pool: {} },
}

/** Why a lock cannot be had while a transaction of the caller is open. */
function oneAtATime({ adapter, provider, shared }: PrismaBackend, wal: boolean): string | undefined {
  if (!shared) return 'in memory there is one connection: a lock waits until the transaction is over'
  if (adapter === 'libsql') return 'its adapter lets all else wait until the transaction is over'
  if (provider === 'sqlite' && !wal)
    return 'without WAL a reader keeps out the writer: a lock waits until the transaction is over'
  return undefined
}

/** There when the tests run. */
export interface Connected {
  readonly database: PrismaTestDatabase
  readonly client: TestClient
}

/** Several apps with Prisma: each with a pool of its own, unless the database has one connection only. */
export function prismaClient(backend: PrismaBackend, wal: boolean, connected: () => Connected): SqlClient {
  const { pool, inZone } = SESSIONS[backend.provider]
  const open = (options: Options = {}): Promise<TestClient> =>
    backend.shared
      ? connected().database.connect({ ...pool, ...options })
      : Promise.resolve(connected().client)
  const pools: TestClient[] = []
  const idle: TestClient[] = []
  const inZones = new Map<string, Promise<TestClient>>()
  const blocked = oneAtATime(backend, wal)
  const sqlite = backend.dialect === 'sqlite'
  let turn = 0

  return {
    manyWriters: !sqlite,
    settableClock: false,
    reasons: {
      createProviderAtTime: sqlite ? 'SQLite has no clock of a session' : 'run with TypeORM',
      ...(backend.provider === 'sqlserver' && {
        createProviderInTimeZone: 'SQL Server has no time zones of sessions',
      }),
      ...(sqlite && {
        createProviderInTimeZone: 'SQLite has no time zones of sessions',
        beginWritingTransaction: 'SQLite has one writer: until the transaction ends, no lock can be written',
      }),
      ...(!backend.shared && { createProviderInTimeZone: 'it has one session' }),
      ...(blocked !== undefined && { beginTransaction: blocked, beginWritingTransaction: blocked }),
    },
    createProvider: async (options) => {
      const index = turn++ % POOLS
      return prismaLockProvider((pools[index] ??= await open()), options)
    },
    ...(inZone &&
      backend.shared && {
        createProviderInSession: async (options, zone) => {
          const known = inZones.get(zone) ?? open(inZone(zone))
          inZones.set(zone, known)
          return prismaLockProvider(await known, options)
        },
      }),
    ...(blocked === undefined && {
      beginTransaction: async (options) => {
        const prisma = idle.pop() ?? (await open())
        const transaction = await begin(prisma, sqlite ? {} : { isolationLevel: 'Serializable' })
        const end = async (how: 'commit' | 'rollback'): Promise<void> => {
          await transaction[how]()
          idle.push(prisma)
        }
        return {
          provider: prismaLockProvider(prisma, options),
          query: (sql) => transaction.query(sql),
          commit: () => end('commit'),
          rollback: () => end('rollback'),
        }
      },
    }),
  }
}

/** Prisma's transactions end with their callback; this one ends when it is told to. */
function begin(prisma: TestClient, options: object) {
  const rollback = new Error('rolled back')
  return new Promise<{
    query(sql: string): Promise<unknown>
    commit(): Promise<void>
    rollback(): Promise<void>
  }>((resolve, reject) => {
    const ended = prisma.$transaction(
      (client: RawClientLike) =>
        new Promise<void>((commit, fail) => {
          resolve({
            query: async (sql) => client.$queryRawUnsafe(sql),
            commit: async () => {
              commit()
              await ended
            },
            rollback: async () => {
              fail(rollback)
              await ended.catch((error: unknown) => {
                if (error !== rollback) throw error
              })
            },
          })
        }),
      { timeout: 60_000, ...options },
    )
    ended.catch(reject)
  })
}
