import { expect, it } from '@jest/globals'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { describeBackends } from '../backends'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'

const backends = prismaBackends().filter(
  ({ name, adapter }) => name === 'sqlite' && adapter === 'better-sqlite3',
)

/**
 * Stands in for a client of Prisma 5 or 6 without an adapter. The native engine's pool lends each call outside of a transaction a
 * connection that no transaction uses: here, that of another client.
 */
function withoutAdapter(client: TestClient, other: TestClient) {
  let transactions = 0
  const stranger = {
    ...{ _activeProvider: 'sqlite', _engineConfig: {} },
    $connect: () => client.$connect(),
    $queryRawUnsafe: (...query: [string, ...unknown[]]) => other.$queryRawUnsafe(...query),
    $executeRawUnsafe: (...query: [string, ...unknown[]]) => other.$executeRawUnsafe(...query),
    $transaction: ((...transaction: Parameters<PrismaClientLike['$transaction']>) => {
      transactions++
      return client.$transaction(...transaction)
    }) as PrismaClientLike['$transaction'],
  }
  return { client: stranger satisfies PrismaClientLike, transactions: () => transactions }
}

describeBackends(backends)('a client without an adapter on $name', (backend) => {
  it('acquires a lock in autocommit beside a transaction of the app, whose rollback leaves the lock alone', async () => {
    const { database, prisma } = await openPrisma(backend)
    await prisma.$queryRawUnsafe('pragma journal_mode = wal')
    const { client, transactions } = withoutAdapter(prisma, await database.connect())
    const provider = prismaLockProvider(client)
    const job = { name: 'job', lockAtMostFor: '1m' }
    const rolledBack = client.$transaction(async (transaction) => {
      await transaction.$queryRawUnsafe('select * from orders')
      expect(await provider.lock(job)).toBeDefined()
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await provider.lock(job)).toBeUndefined()
    expect(transactions()).toBe(1)
  })
})
