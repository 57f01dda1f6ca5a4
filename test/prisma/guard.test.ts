import { beforeAll, expect, it } from '@jest/globals'
import { guard } from '../../src/prisma/guard'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { afterFile } from '../after-test'
import { describeBackends } from '../backends'
import { guardCases, guardSteps, type GuardedClient } from '../conformance/guard-cases'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { NESTED_TRANSACTIONS, thrown } from './adapters'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'

/** One of each database's levels that may fail: typeorm/guard.test.ts tries the others, with the same statements. */
const LEVELS: Readonly<Record<string, string>> = {
  postgres: 'Serializable',
  mysql: 'Serializable',
  mariadb: 'Serializable',
  mssql: 'Snapshot',
}
/** How a transaction fails there that sees an old row; elsewhere it sees the new one. */
const SERIALIZES: Readonly<Record<string, Parameters<typeof thrown>[0]>> = {
  postgres: { originalCode: '40001' },
  mssql: { code: 3960 },
}

// libsql opens a new and empty database after each interactive transaction of one that lives in memory.
const backends = prismaBackends().filter(
  ({ name, adapter }) => !(adapter === 'libsql' && name === 'sqlite-memory'),
)

describeBackends(backends)('guard on $name by $adapter', (backend) => {
  const { dialect, shared } = backend
  let prisma: TestClient
  let client: GuardedClient

  beforeAll(async () => {
    const opened = await openPrisma(backend, afterFile)
    const { database } = opened
    prisma = opened.prisma
    await prisma.$executeRawUnsafe('create table work (step varchar(64))')
    if (dialect === 'mssql')
      await prisma.$executeRawUnsafe('alter database current set allow_snapshot_isolation on')
    const other = shared ? await database.connect() : prisma
    const query = (on: Pick<PrismaClientLike, '$queryRawUnsafe' | '$executeRawUnsafe'>, sql: string) =>
      sql.startsWith('select') ? on.$queryRawUnsafe(sql) : on.$executeRawUnsafe(sql)
    client = {
      createProvider: (options) => prismaLockProvider(prisma, options),
      createOther: (options) => prismaLockProvider(other, options),
      transaction: (work, level) => {
        const options: object = level === undefined ? {} : { isolationLevel: level }
        return prisma.$transaction(
          (tx) => work({ guard: (lock) => guard(tx, lock), query: (sql) => query(tx, sql) }),
          options,
        )
      },
      query: (sql) => query(other, sql),
    }
  })

  guardCases(() => client, {
    ...{ dialect, shared, levels: [LEVELS[dialect] ?? []].flat() },
    // libsql never ends a statement that found the file busy: what its connection reads next would keep the file locked
    // for readers, and the commit would fail, until that statement is collected as garbage.
    letsWait: shared && backend.adapter !== 'libsql',
    failure: () => {
      const cause = SERIALIZES[dialect]
      return cause && thrown(cause)
    },
  })

  // Up to Prisma 7.10.0 a transaction also is nested if its object of options was once passed to a nested one.
  itIf(shared && backend.adapter !== 'libsql' && NESTED_TRANSACTIONS, 'several connections')(
    'lasts until the outermost transaction ends, if it is called in a nested one',
    async () => {
      const steps = guardSteps(() => client, dialect)
      await client.query("delete from shedlock where name = 'job'")
      const lock = await steps.taken(2_000)
      const order: string[] = []
      const nested = { timeout: 30_000 }
      const outermost = prisma.$transaction(async (tx) => {
        const outer = tx as unknown as Pick<TestClient, '$transaction' | '$queryRawUnsafe'>
        await outer.$transaction((inner) => guard(inner, lock), { ...nested })
        await steps.outlast({ query: (sql) => outer.$queryRawUnsafe(sql) }, order)
      }, nested)
      await Promise.all([outermost, steps.whenTaken().then(() => order.push('taken'))])
      expect(order).toEqual(['still open', 'taken'])
    },
  )

  it('refuses to work without a transaction, and in one that commits each statement', async () => {
    const lock = await client.createProvider().lock({ name: 'outside', lockAtMostFor: '1m' })
    // @ts-expect-error nothing would be guarded outside of a transaction
    await expect(guard(prisma, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const extended = prisma.$extends({ client: { $nothing: 1 } })
    // @ts-expect-error nor with an extended client
    await expect(guard(extended, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const adapter = { adapterName: '@prisma/adapter-d1-http' }
    const onD1 = { $queryRawUnsafe: () => Promise.reject(new Error('asked')), _engineConfig: { adapter } }
    await expect(guard(onD1 as never, lock)).rejects.toEqual(lockError('INVALID_CLIENT', 'Cloudflare D1'))
    await lock?.unlock()
  })
})
