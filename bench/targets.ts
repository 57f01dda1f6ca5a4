import { DataSource } from 'typeorm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { byHand, floorOperations } from './floor'
import { ourOperations } from './lock-operations'
import { makeLockTable } from './lock-table'
import type { Operation, Target } from './operation'
import { readThrough } from './open-provider'
import { peersOn } from './peers'
import { prismaOperations } from './prisma'
import { benchDatabase, location } from './raw-clients'
import { statementShapes } from './statement-shapes'
import { rawLock } from './statements'
import { countingWire, type Wire } from './wire'

const TABLE = 'shedlock_bench'

export interface WireOptions {
  /** Whether the traffic is counted by a proxy, which makes times useless. */
  readonly counted?: boolean
  /** Milliseconds that the proxy adds to each round trip. */
  readonly delay?: number
}

export async function openTarget(
  name: string,
  { counted = false, delay = 0 }: WireOptions = {},
): Promise<Target> {
  const database = benchDatabase(name)
  const { url, remove } = location(name)
  const wire: Wire | undefined =
    (counted || delay > 0) && name !== 'sqlite' ? await countingWire(url, delay) : undefined
  const here = wire?.url ?? url
  const control = database.raw(url)
  const raw = database.raw(here)
  await makeLockTable(database, control, TABLE, ['write', 'floor'])
  const dataSource = await new DataSource(database.typeOrm(here, 1)).initialize()
  const read = `select lock_until from ${TABLE} where name = ${database.placeholder(0)}`
  const prisma = await prismaOperations(database, here, TABLE, read)
  const peers = await peersOn(name, here, TABLE)
  const provider = typeOrmLockProvider(dataSource, { tableName: TABLE })
  const { prepared } = database
  const throughTypeOrm = async (text: string, bound: unknown[] = []): Promise<void> => {
    const queryRunner = dataSource.createQueryRunner()
    if (prepared) await prepared(await queryRunner.connect(), text, bound)
    else await queryRunner.query(text, bound)
    await queryRunner.release()
  }
  const typeOrm = rawLock(database.dialect, TABLE, database.placeholder, throughTypeOrm)
  const operations: Operation[] = [
    ...floorOperations(database, TABLE, raw),
    { scenario: 'read one row', who: 'TypeORM', run: () => readThrough(dataSource, read, 'held') },
    { scenario: 'read one row', who: 'TypeORM, prepared', run: () => throughTypeOrm(read, ['held']) },
    { scenario: 'win + release', who: byHand('TypeORM'), run: () => typeOrm.winAndRelease('floor') },
    ...(await ourOperations('ours: TypeORM', provider, 'held')),
    ...prisma.operations,
    ...peers.flatMap(({ operations }) => operations),
  ]
  const [version] = await dataSource.query<Record<string, string>[]>(database.version)
  return {
    version: Object.values(version ?? {}).join(),
    statements: statementShapes(database.dialect),
    // Operations that are compared are measured one after another.
    operations: operations.toSorted((one, other) => one.scenario.localeCompare(other.scenario)),
    server: database.counters(control.run, url),
    traffic: wire?.traffic,
    whileRowIsLocked: async (work) => {
      for (const statement of database.lockRow(TABLE, 'held')) await control.run(statement)
      try {
        return await work()
      } finally {
        await control.run('rollback')
      }
    },
    close: async () => {
      for (const client of [prisma, ...peers]) await client.close()
      await dataSource.destroy()
      await raw.close()
      await control.run(`drop table ${TABLE}`)
      await control.close()
      await wire?.close()
      remove()
    },
  }
}
