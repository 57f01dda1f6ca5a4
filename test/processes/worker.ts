import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSourceOptions } from 'typeorm'
import { LockingTaskExecutor, type LockProvider } from '../../src/core/internal'
import { prismaLockProvider } from '../../src/prisma/internal'
import { placeholderOf } from '../../src/prisma/prisma-client'
import type { DialectName } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { drivers } from '../../src/drivers/internal'
import { ADAPTERS, connect } from '../prisma/adapters'

/** What the test tells one of its processes to do. */
export interface Order {
  readonly typeOrm: DataSourceOptions
  readonly dialect: DialectName
  /** Takes the lock through Prisma, by this adapter of this backend; otherwise through TypeORM. */
  readonly prisma?: { readonly adapter: string; readonly backend: string; readonly url: string }
  readonly name: string
  readonly lockAtMostFor: string
  /** How often to change the counter under the lock; 0 means to hold the lock until killed. */
  readonly runs: number
}

/** Other processes may keep a SQLite file busy for seconds: a writer sleeps while it waits for readers to leave. */
const UNHURRIED = { timeLimit: '1m' }

/** What a process has to do with its database. */
interface Client {
  readonly provider: LockProvider
  readonly query: (sql: string, values: unknown[]) => Promise<unknown>
}

async function typeOrmClient({ typeOrm }: Order): Promise<Client> {
  const { DataSource } = await import('typeorm')
  const dataSource = await new DataSource({ ...typeOrm, poolSize: 2 } as DataSourceOptions).initialize()
  return {
    provider: typeOrmLockProvider(dataSource, UNHURRIED),
    query: (sql, values) => dataSource.query(sql, values),
  }
}

async function prismaClient({ adapter, backend, url }: NonNullable<Order['prisma']>): Promise<Client> {
  const found = ADAPTERS.find((each) => each.name === adapter && each.backend === backend)
  if (!found) throw new Error(`Prisma has no adapter ${adapter} for ${backend}.`)
  const prisma = await connect(found, url)
  // libsql's default is 0: the counter's own statements would fail while another process takes a lock.
  if (adapter === 'libsql') await prisma.$queryRawUnsafe('pragma busy_timeout = 5000')
  return {
    provider: prismaLockProvider(prisma, UNHURRIED),
    query: async (sql, values) => prisma.$queryRawUnsafe(sql, ...values),
  }
}

async function work(order: Order): Promise<void> {
  const { dialect, prisma, name, lockAtMostFor, runs } = order
  const { provider, query } = await (prisma ? prismaClient(prisma) : typeOrmClient(order))
  const executor = new LockingTaskExecutor(provider)
  const hole = prisma ? placeholderOf(dialect) : drivers[dialect].placeholder

  const increment = async (): Promise<void> => {
    const rows = await query(`select value as value from counter where id = ${hole(0)}`, [name])
    // Oracle calls the column VALUE.
    const value = Number(Object.values((rows as object[])[0] ?? {})[0])
    await sleep(1)
    await query(`update counter set value = ${hole(0)} where id = ${hole(1)}`, [value + 1, name])
  }

  process.send?.('ready')
  await new Promise((resolve) => process.once('message', resolve))
  for (let done = 0; runs === 0 || done < runs;) {
    const { executed } = await executor.executeWithLock({ name, lockAtMostFor }, async () => {
      if (runs > 0) return increment()
      process.send?.('held')
      await sleep(60_000)
    })
    if (executed) done++
    else await sleep(3)
  }
  process.exit(0)
}

void work(JSON.parse(process.argv[2] ?? '') as Order)
