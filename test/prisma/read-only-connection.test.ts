import { expect, it } from '@jest/globals'
import { endReadOnlyConnection } from '../../src/prisma/read-only-connection'
import type { PrismaClientLike } from '../../src/prisma/prisma-client'

/** A pool that lends its connections in turns, as mariadb's does; the last one leads to a server that is read-only. */
function pool(size: number) {
  const killed: string[] = []
  let next = 0
  const $transaction = async (work: (transaction: unknown) => Promise<unknown>): Promise<unknown> => {
    const id = next++ % size
    return work({
      $queryRawUnsafe: () => Promise.resolve([{ id: BigInt(id), read_only: id === size - 1 ? 1n : 0n }]),
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
