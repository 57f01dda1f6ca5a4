import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/internal'
import { endReadOnlyConnection } from '../../src/prisma/read-only-connection'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { describeBackends } from '../backends'
import { prismaBackends } from './clients'

/**
 * A pool that lends its connections in turns, as mariadb's does.
 *
 * @param stale whether the last one leads to a server that is read-only
 */
function pool(size: number, stale = true) {
  const killed: string[] = []
  let next = 0
  const $transaction = async (work: (transaction: unknown) => Promise<unknown>): Promise<unknown> => {
    const id = next++ % size
    return work({
      $queryRawUnsafe: (text: string) =>
        Promise.resolve(
          text.startsWith('show') ? [] : [{ id: BigInt(id), read_only: stale && id === size - 1 ? 1n : 0n }],
        ),
      $executeRawUnsafe: (text: string) => {
        killed.push(text)
        return Promise.reject(new Error('killed'))
      },
    })
  }
  return { client: { $transaction } as unknown as PrismaClientLike, killed, lent: () => next }
}

it('ends the connection to a read-only server, whichever the pool lends first', async () => {
  const { client, killed, lent } = pool(3)
  await endReadOnlyConnection(client)
  expect(killed).toEqual(['kill 2'])
  expect(lent()).toBe(3)
})

it('ends none where it finds none', async () => {
  const { client, killed } = pool(100)
  await endReadOnlyConnection(client)
  expect(killed).toEqual([])
})

it('leaves the pool to others as soon as it lends a connection again', async () => {
  const { client, killed, lent } = pool(3, false)
  await endReadOnlyConnection(client)
  expect(killed).toEqual([])
  expect(lent()).toBe(4)
})

const backends = prismaBackends().filter(({ name }) => ['mariadb', 'mysql'].includes(name))

describeBackends(backends)('a session on $name', (backend) => {
  it('that was made read-only by itself is left, so that locks go on', async () => {
    const database = await backend.create()
    afterTest(() => database.drop())
    const observer = await new DataSource(database.typeOrm).initialize()
    afterTest(() => observer.destroy())
    await typeOrmLockProvider(observer).table.create()
    const prisma = await database.connect({ connectionLimit: 1 })
    const provider = prismaLockProvider(prisma)
    await (await provider.lock({ name: 'job', lockAtMostFor: '1h' }))?.unlock()
    await prisma.$executeRawUnsafe('set session transaction read only')
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1h' })).toBeDefined()
    await provider.drain()
  })
})
