import { AsyncLocalStorage } from 'node:async_hooks'
import type { DataSource, QueryRunner } from 'typeorm'
import { expect, it } from '@jest/globals'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'
import { prismaBackends } from '../prisma/clients'
import { observeLockTable } from './lock-table-observer'

const job = { name: 'job', lockAtMostFor: '10m' }
const rolledBack = new Error('rolled back')

/** Returns what `current` is each time a member is read, as proxies of transactions and tenants do. */
function proxyOf<T extends object>(passed: T, current: () => object, binds: boolean): T {
  return new Proxy(passed, {
    get: (_, member) => {
      const value: unknown = Reflect.get(current(), member)
      return binds && typeof value === 'function' ? (value.bind(current()) as unknown) : value
    },
  })
}

const prismas = prismaBackends().filter(({ shared, dialect }) => shared && dialect !== 'sqlite')

describeBackends(prismas)('the PrismaClient that was passed on $name', (backend) => {
  it.each([true, false])('stays what it was when a proxy becomes a transaction: bound %s', async (binds) => {
    const { database, dataSource: observer } = await openDatabase(backend, migrated())
    const prisma = await database.connect()
    const transactions = new AsyncLocalStorage<object>()
    const proxy = proxyOf<PrismaClientLike>(prisma, () => transactions.getStore() ?? prisma, binds)
    const provider = prismaLockProvider(proxy)
    const work = async () => {
      expect(await provider.lock(job)).toBeDefined()
      throw rolledBack
    }
    const undone = prisma.$transaction((transaction) => transactions.run(transaction, work))
    await expect(undone).rejects.toBe(rolledBack)
    expect(await observeLockTable(observer, backend.dialect).isHeld('job')).toBe(true)
  })
})

const typeOrms = availableBackends().filter(({ shared, dialect }) => shared && dialect !== 'sqlite')

describeBackends(typeOrms)('the DataSource that was passed on $name', (backend) => {
  it('stays what it was behind a proxy that becomes another DataSource', async () => {
    const { dataSource } = await openDatabase(backend, migrated())
    const other = await openDatabase(backend, migrated())
    const current = new AsyncLocalStorage<object>()
    const proxy = proxyOf(dataSource, () => current.getStore() ?? dataSource, true)
    const provider = typeOrmLockProvider(proxy)
    expect(await current.run(other.dataSource, () => provider.lock(job))).toBeDefined()
    expect(await observeLockTable(dataSource, backend.dialect).isHeld('job')).toBe(true)
    expect(await observeLockTable(other.dataSource, backend.dialect).isHeld('job')).toBe(false)
  })

  it('is refused if it hands out the query runner of a transaction', async () => {
    const { dataSource } = await openDatabase(backend, migrated())
    const current = new AsyncLocalStorage<QueryRunner>()
    const createQueryRunner = () => current.getStore() ?? dataSource.createQueryRunner()
    const provider = typeOrmLockProvider(
      Object.assign(Object.create(dataSource) as DataSource, { createQueryRunner }),
      { ownConnections: 0 },
    )
    await dataSource.transaction(async ({ queryRunner }) => {
      if (!queryRunner) throw new Error('there is no query runner')
      await expect(current.run(queryRunner, () => provider.lock(job))).rejects.toEqual(
        lockError('INVALID_CLIENT', 'pass the DataSource itself, not a proxy'),
      )
      expect(queryRunner.isTransactionActive).toBe(true)
      await queryRunner.query('select 1')
    })
  })
})
