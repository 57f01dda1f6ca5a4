import { DataSource, type DataSourceOptions } from 'typeorm'
import type { DialectName } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import type { Backend } from '../backends'
import type { SqlClient } from './sql-environment'
import { OFFSETS } from './zone-offsets'

const SQLITE_REASONS = {
  createProviderInTimeZone: 'SQLite has no time zones of sessions',
  createProviderAtTime: 'SQLite has no clock of a session',
  beginWritingTransaction: 'SQLite has one writer: until the transaction ends, no lock can be written',
}
const REASONS: Readonly<Record<DialectName, SqlClient['reasons']>> = {
  postgres: { createProviderAtTime: 'PostgreSQL has no clock of a session' },
  cockroachdb: { createProviderAtTime: 'CockroachDB has no clock of a session' },
  mysql: { createProviderAtTime: 'the time zone tables of this server are not loaded' },
  mariadb: { createProviderAtTime: 'the time zone tables of this server are not loaded' },
  sqlite: SQLITE_REASONS,
  mssql: {
    createProviderInTimeZone: 'SQL Server has no time zones of sessions',
    createProviderAtTime: 'SQL Server has no clock of a session',
  },
  oracle: { createProviderAtTime: 'Oracle has no clock of a session' },
  hana: { createProviderAtTime: 'SAP HANA has no clock of a session' },
  spanner: {
    createProviderInTimeZone: 'Spanner has no time zones of sessions',
    createProviderAtTime: 'Spanner has no clock of a session',
  },
}
const POOLS = 4

/** Why a lock cannot be had while a transaction of the caller is open. */
function oneAtATime({ dialect, shared }: Backend, wal: boolean): string | undefined {
  if (dialect === 'spanner') return 'its emulator has one transaction at a time'
  if (!shared) return 'in memory there is one connection: a lock waits until the transaction is over'
  if (dialect === 'sqlite' && !wal)
    return 'without WAL a reader keeps out the writer: a lock waits until the transaction is over'
  return undefined
}

export interface TypeOrmClient extends SqlClient {
  close(): Promise<void>
}

/**
 * Several apps with TypeORM: each with a pool of its own, unless the database has one connection only. They connect as
 * the observer does, which is asked for when the tests run.
 */
export function typeOrmClient(backend: Backend, observer: () => DataSource, wal = false): TypeOrmClient {
  const { dialect, shared } = backend
  const opened: DataSource[] = []
  const open = async (rest: object = {}): Promise<DataSource> => {
    if (!shared) return observer()
    const dataSource = await new DataSource({
      ...observer().options,
      poolSize: 3,
      ...rest,
    } as DataSourceOptions).initialize()
    opened.push(dataSource)
    return dataSource
  }
  const pools: DataSource[] = []
  const idle: DataSource[] = []
  const inZones = new Map<string, Promise<DataSource>>()
  const blocked = oneAtATime(backend, wal)
  let turn = 0

  const openInZone = async (zone: string, time?: number): Promise<DataSource> => {
    if (dialect === 'postgres' || dialect === 'cockroachdb')
      return open({ extra: { options: `-c TimeZone=${zone}` } })
    // One connection, so that what is set for it holds for all statements.
    const dataSource = await open({ poolSize: 1 })
    if (dialect === 'oracle') await dataSource.query(`alter session set time_zone = '${zone}'`)
    else
      await dataSource.query(`set time_zone = '${(backend.knowsNamedZones ? zone : OFFSETS[zone]) ?? zone}'`)
    if (time !== undefined) await dataSource.query(`set timestamp = ${time / 1000}`)
    return dataSource
  }

  const client: TypeOrmClient = {
    manyWriters: dialect !== 'sqlite',
    settableClock: backend.knowsNamedZones,
    reasons: {
      ...REASONS[dialect],
      ...(!shared && { createProviderInTimeZone: 'it has one session' }),
      ...(blocked !== undefined && { beginTransaction: blocked, beginWritingTransaction: blocked }),
    },
    createProvider: async (options) => {
      const index = turn++ % POOLS
      const dataSource = (pools[index] ??= await open())
      return typeOrmLockProvider(dataSource, options)
    },
    ...(shared &&
      dialect !== 'sqlite' &&
      dialect !== 'mssql' &&
      dialect !== 'spanner' && {
        createProviderInSession: async (options, zone, time) => {
          const key = `${zone} ${String(time)}`
          const known = inZones.get(key) ?? openInZone(zone, time)
          inZones.set(key, known)
          return typeOrmLockProvider(await known, options)
        },
      }),
    ...(blocked === undefined && {
      beginTransaction: async (options) => {
        const dataSource = idle.pop() ?? (await open())
        const queryRunner = dataSource.createQueryRunner()
        await queryRunner.startTransaction(dialect === 'sqlite' ? undefined : 'SERIALIZABLE')
        const end = async (how: 'commitTransaction' | 'rollbackTransaction'): Promise<void> => {
          await queryRunner[how]()
          await queryRunner.release()
          idle.push(dataSource)
        }
        return {
          provider: typeOrmLockProvider(dataSource, options),
          query: (sql) => queryRunner.query(sql),
          commit: () => end('commitTransaction'),
          rollback: () => end('rollbackTransaction'),
        }
      },
    }),
    close: async () => {
      await Promise.all(opened.map((dataSource) => dataSource.destroy()))
    },
  }
  return client
}
