import { beforeEach, expect, test } from '@jest/globals'
import { assertLocked } from '../../src/core/internal'
import {
  prismaLockProvider,
  shedlock,
  type PrismaClientLike,
  type ShedLockClient,
} from '../../src/prisma/internal'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'
import { describeBackends } from '../backends'

/** The first of each provider: extensions have nothing to do with adapters. */
const backends = prismaBackends().filter(
  ({ provider, shared }, index, all) =>
    shared && all.findIndex((other) => other.provider === provider) === index,
)

describeBackends(backends)('client extensions on $name', (backend) => {
  let prisma: TestClient

  beforeEach(async () => {
    ;({ prisma } = await openPrisma(backend))
  })

  const isFree = async (client: PrismaClientLike): Promise<boolean> => {
    const lock = await prismaLockProvider(client).lock({ name: 'job', lockAtMostFor: '1m' })
    await lock?.unlock()
    return lock !== undefined
  }

  const hooked = {
    query: {
      $allOperations: ({ args, query }: { args: unknown; query: (args: unknown) => unknown }) => query(args),
    },
  }

  test('shedlock adds its members, before and behind other extensions', async () => {
    const other = { client: { $other: () => 'other' } }
    const clients = [
      prisma.$extends(shedlock({ defaultLockAtMostFor: '1m' })),
      prisma
        .$extends(other)
        .$extends(hooked)
        .$extends(shedlock({ defaultLockAtMostFor: '1m' })),
      prisma
        .$extends(shedlock({ defaultLockAtMostFor: '1m' }))
        .$extends(hooked)
        .$extends(other) as never,
    ] as (TestClient & ShedLockClient)[]
    for (const client of clients) {
      const result = await client.$executeWithLock({ name: 'job' }, async () => {
        assertLocked()
        return isFree(prisma)
      })
      expect(result).toEqual({ executed: true, value: false })
      expect(await isFree(prisma)).toBe(true)

      const wrapped = client.$wrapWithLock({ name: 'job' }, (left: number, right: number) => left + right)
      expect(await wrapped(1, 2)).toEqual({ executed: true, value: 3 })

      const lock = await client.$lockProvider.lock({ name: 'job', lockAtMostFor: '1m' })
      expect(await client.$executeWithLock({ name: 'job' }, () => 'never')).toMatchObject({
        executed: false,
        reason: 'held',
      })
      await lock?.unlock()

      expect(await client.$lockingTaskExecutor.shutdown()).toEqual([])
      expect(await client.$executeWithLock({ name: 'job' }, () => 'never')).toMatchObject({
        executed: false,
        reason: 'shutdown',
      })
    }
  })

  test('an extension that changes the rows of queries changes no lock', async () => {
    const client = prisma.$extends({
      query: {
        $allOperations: async ({ args, query }: { args: unknown; query: (args: unknown) => unknown }) => {
          const result = await query(args)
          return Array.isArray(result) ? [] : result
        },
      },
    } as never) as TestClient
    const lock = await prismaLockProvider(client).lock({ name: 'job', lockAtMostFor: '1m' })
    expect(await isFree(client)).toBe(false)
    await lock?.unlock()
    expect(await isFree(client)).toBe(true)
  })

  test('a task may be run by the extended client of a transaction, and its rollback leaves the lock alone', async () => {
    if (backend.dialect === 'sqlite') return
    const extended = prisma.$extends(shedlock({ defaultLockAtMostFor: '1m' }))
    let lock
    await expect(
      extended.$transaction(async (transaction) => {
        lock = await (transaction as unknown as typeof extended).$lockProvider.lock({
          name: 'job',
          lockAtMostFor: '1m',
        })
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    expect(lock).toBeDefined()
    expect(await isFree(prisma)).toBe(false)
  })

  test('wrong options and clients are refused when the client is extended', () => {
    const refused = (code: string) => expect.objectContaining({ code })
    expect(() => prisma.$extends(shedlock({ tableNam: 'x' } as never))).toThrow(
      refused('INVALID_CONFIGURATION'),
    )
    expect(() => prisma.$extends(shedlock({ lockAtMostFor: '1m' } as never))).toThrow(
      /'lockAtMostFor' .* the known options are defaultLockAtMostFor, .*tableName/,
    )
    expect(() => prisma.$extends(shedlock({ defaultLockAtMostFor: 'soon' }))).toThrow(
      refused('INVALID_CONFIGURATION'),
    )
    expect(() => shedlock()({} as never)).toThrow(refused('INVALID_CLIENT'))
  })

  /** Behaves as @prisma/extension-read-replicas 0.5 does, and sends raw queries to the replica too. */
  const withReplica = (replica: TestClient) => (client: TestClient) =>
    client.$extends({
      client: { $primary: () => client, $connect: () => client.$connect() },
      query: {
        $queryRawUnsafe: ({ args }: { args: [string, ...unknown[]] }) => replica.$queryRawUnsafe(...args),
      },
    })

  test('behind a replica the primary is asked', async () => {
    const elsewhere = await backend.create()
    const replica = await elsewhere.connect()
    const client = withReplica(replica)(prisma)
    await expect(client.$queryRawUnsafe('select * from shedlock')).rejects.toThrow()
    const lock = await prismaLockProvider(client).lock({ name: 'job', lockAtMostFor: '1m' })
    expect(lock).toBeDefined()
    expect(await isFree(client)).toBe(false)
    await elsewhere.drop()
  })

  test('the client of a transaction is refused under an extension that adds a $connect', async () => {
    await withReplica(prisma)(prisma).$transaction(async (transaction) => {
      expect(() => prismaLockProvider(transaction as PrismaClientLike)).toThrow(
        expect.objectContaining({ code: 'INVALID_CLIENT' }),
      )
      await Promise.resolve()
    })
  })
})
