import { DataSource } from 'typeorm'
import type { LockProvider } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { makeLockTable } from './lock-table'
import { benchDatabases } from './raw-clients'

const TABLE = 'shedlock_bench_more'

export interface OpenProvider {
  readonly provider: LockProvider
  close(): Promise<void>
}

/** Our lock through TypeORM, with a pool of its own. Who makes the table drops it. */
export async function openProvider(
  name: string,
  url: string,
  connections: number,
  make?: { expired: readonly string[]; table?: string },
): Promise<OpenProvider> {
  const database = benchDatabases[name]
  if (!database) throw new Error(`no database '${name}'`)
  const tableName = make?.table ?? TABLE
  const control = make && database.raw(url)
  if (control) await makeLockTable(database, control, tableName, make.expired)
  const dataSource = await new DataSource(database.typeOrm(url, connections)).initialize()
  return {
    provider: typeOrmLockProvider(dataSource, { tableName }),
    close: async () => {
      await dataSource.destroy()
      await control?.run(`drop table ${tableName}`)
      await control?.close()
    },
  }
}

/** @returns whether it was won */
export async function winAndRelease(provider: LockProvider, name: string): Promise<boolean> {
  const lock = await provider.lock({ name, lockAtMostFor: 60_000 })
  await lock?.unlock()
  return lock !== undefined
}
