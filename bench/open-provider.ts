import { DataSource } from 'typeorm'
import type { LockProvider } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeLockTable } from './lock-table'
import { benchDatabase } from './raw-clients'

const TABLE = 'shedlock_bench_more'

interface MadeTable {
  readonly expired: readonly string[]
  readonly table?: string
}

export interface OpenProvider {
  readonly provider: LockProvider
  /** Reads the lock's row by its primary key, and does nothing else. */
  readonly read: (name: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens our lock through TypeORM, as one instance of an app. The caller that creates the table also drops it. */
export async function openProvider(
  name: string,
  url: string,
  connections: number,
  { make, isOneOfMany = false }: { make?: MadeTable; isOneOfMany?: boolean } = {},
): Promise<OpenProvider> {
  const database = benchDatabase(name)
  const tableName = make?.table ?? TABLE
  const control = make && database.raw(url)
  if (control) await makeLockTable(database, control, tableName, make.expired)
  const options = { ...database.typeOrm(url, connections), ...(isOneOfMany && database.closesIdle) }
  const dataSource = await new DataSource(options).initialize()
  return {
    // A long time limit, so that waiting for a connection of the pool is measured rather than cut off.
    provider: typeOrmLockProvider(dataSource, { tableName, timeLimit: '1m' }),
    read: (lock) =>
      readThrough(
        dataSource,
        `select lock_until from ${tableName} where name = ${database.placeholder(0)}`,
        lock,
      ),
    close: async () => {
      await dataSource.destroy()
      await control?.run(`drop table ${tableName}`)
      await control?.close()
    },
  }
}

/** Sends a statement on a query runner of its own, as our lock does. */
export async function readThrough(dataSource: DataSource, text: string, lock: string): Promise<void> {
  const queryRunner = dataSource.createQueryRunner()
  await queryRunner.query(text, [lock])
  await queryRunner.release()
}

/** @returns whether the lock was acquired */
export async function winAndRelease(provider: LockProvider, name: string): Promise<boolean> {
  const lock = await provider.lock({ name, lockAtMostFor: 60_000 })
  await lock?.unlock()
  return lock !== undefined
}
