import { DataSource } from 'typeorm'
import type { LockProvider } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeLockTable } from './lock-table'
import { benchDatabase } from './raw-clients'

const TABLE = 'shedlock_bench_more'

export interface OpenProvider {
  readonly provider: LockProvider
  /** A mere read of the lock's row, by its primary key. */
  readonly read: (name: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Our lock through TypeORM, with a pool of its own. Who makes the table drops it. */
export async function openProvider(
  name: string,
  url: string,
  connections: number,
  make?: { expired: readonly string[]; table?: string },
): Promise<OpenProvider> {
  const database = benchDatabase(name)
  const tableName = make?.table ?? TABLE
  const control = make && database.raw(url)
  if (control) await makeLockTable(database, control, tableName, make.expired)
  const dataSource = await new DataSource(database.typeOrm(url, connections)).initialize()
  return {
    // However long the crowd has to wait for a connection, it is measured.
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

/** One statement on a query runner of its own, as our lock sends them. */
export async function readThrough(dataSource: DataSource, text: string, lock: string): Promise<void> {
  const queryRunner = dataSource.createQueryRunner()
  await queryRunner.query(text, [lock])
  await queryRunner.release()
}

/** @returns whether it was won */
export async function winAndRelease(provider: LockProvider, name: string): Promise<boolean> {
  const lock = await provider.lock({ name, lockAtMostFor: 60_000 })
  await lock?.unlock()
  return lock !== undefined
}
