import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { LockingTaskExecutor, type Lock } from '../../src/core'
import { guard, prismaLockProvider, type RawClientLike } from '../../src/prisma'
import { prismaBackends, type PrismaTestDatabase, type TestClient } from './clients'
import { createTables } from './lock-table'
import { eventually } from '../eventually'
import { describeBackends } from '../backends'
import { itIf } from '../it-if'

const LEVELS = ['ReadCommitted', 'RepeatableRead', 'Serializable'] as const
/** Of the databases that are tried at each of their levels. */
const LEVELS_OF: Readonly<Record<string, readonly string[]>> = {
  postgres: LEVELS,
  mysql: LEVELS,
  mariadb: LEVELS,
  mssql: [...LEVELS, 'Snapshot'],
}
/** How a transaction fails that sees an old row; elsewhere it sees the new one. */
const SERIALIZES: Readonly<Record<string, object>> = {
  'postgres RepeatableRead': { originalCode: '40001' },
  'postgres Serializable': { originalCode: '40001' },
  'mssql Snapshot': { code: 3960 },
}

// libsql opens a new and empty database after each interactive transaction of one that lives in memory.
const backends = prismaBackends().filter(
  ({ name, adapter }) => !(adapter === 'libsql' && name === 'sqlite-memory'),
)

describeBackends(backends)('guard on $name by $adapter', (backend) => {
  const { dialect, shared } = backend
  let database: PrismaTestDatabase
  let prisma: TestClient
  let other: TestClient
  let step = 0

  beforeAll(async () => {
    database = await backend.create()
    prisma = await database.connect()
    await createTables(prisma, dialect)
    other = shared ? await database.connect() : prisma
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    await prisma.$executeRawUnsafe('delete from orders')
    await prisma.$executeRawUnsafe('delete from shedlock')
  })

  const work = (tx: RawClientLike): PromiseLike<unknown> =>
    tx.$executeRawUnsafe(`insert into orders (id, note) values (${++step}, 'done')`)
  const worked = async (): Promise<number> =>
    ((await prisma.$queryRawUnsafe('select id from orders')) as unknown[]).length
  const taken = async (lockAtMostFor = 60_000): Promise<Lock> => {
    const lock = await prismaLockProvider(prisma).lock({ name: 'job', lockAtMostFor })
    if (!lock) throw new Error('The lock is not free.')
    return lock
  }
  const steal = (): PromiseLike<unknown> =>
    other.$executeRawUnsafe("update shedlock set locked_by = 'somebody else' where name = 'job'")
  const expire = (): PromiseLike<unknown> =>
    other.$executeRawUnsafe("update shedlock set lock_until = '2020-01-01 00:00:00.000' where name = 'job'")
  /** By the clock that decides: the holder's own says so earlier, by the time that its acquisition took. */
  const untilOver = async (tx: RawClientLike): Promise<void> => {
    const observer = prismaLockProvider(other)
    while ((await observer.listLocks()).some(({ name, held }) => name === 'job' && held)) {
      // PostgreSQL ends a pinned transaction that is idle for too long.
      await tx.$queryRawUnsafe('select 1')
    }
  }
  const whenTaken = async (): Promise<Lock> => {
    for (;;) {
      const lock = await prismaLockProvider(other).lock({ name: 'job', lockAtMostFor: '1m' })
      if (lock) return lock
      await sleep(5)
    }
  }

  it('lets a transaction commit under the active lock', async () => {
    const executor = new LockingTaskExecutor(prismaLockProvider(prisma))
    await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, async ({ lock }) => {
      await lock.extend('2m')
      await prisma.$transaction(async (tx) => {
        await work(tx)
        await guard(tx)
      })
    })
    expect(await worked()).toBe(1)
  })

  it.each([
    ['somebody else took the lock', steal],
    ['the lease is over, even if nobody took the lock', expire],
    ['the row was deleted', () => other.$executeRawUnsafe('delete from shedlock')],
  ])('rolls the transaction back when %s', async (_, lose) => {
    const lock = await taken()
    await lose()
    const transaction = prisma.$transaction(async (tx) => {
      await work(tx)
      await guard(tx, lock)
    })
    await expect(transaction).rejects.toMatchObject({ code: 'LOCK_LOST', lockName: 'job' })
    expect(await worked()).toBe(0)
  })

  it('refuses to work without a lock, without a transaction, and with a lock that is not in SQL', async () => {
    const lock = await taken()
    await prisma.$transaction(async (tx) => {
      await expect(guard(tx)).rejects.toMatchObject({ code: 'NOT_LOCKED' })
      const elsewhere = { ...lock, acquisition: undefined }
      await expect(guard(tx, elsewhere)).rejects.toMatchObject({ code: 'INVALID_CONFIGURATION' })
    })
    // @ts-expect-error nothing would be guarded outside of a transaction
    await expect(guard(prisma, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    const extended = prisma.$extends({ client: { $nothing: 1 } })
    // @ts-expect-error nor with an extended client
    await expect(guard(extended, lock)).rejects.toMatchObject({ code: 'INVALID_CLIENT' })
    await lock.unlock()
  })

  it('keeps this lock busy, but never for ever, when its own task extends it inside of the pin', async () => {
    const executor = new LockingTaskExecutor(prismaLockProvider(prisma, { timeLimit: '2s' }))
    await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, async ({ lock }) => {
      await prisma.$transaction(async (tx) => {
        await guard(tx)
        await expect(lock.extend('1m')).rejects.toMatchObject({ code: 'TIMEOUT' })
      })
    })
    const provider = prismaLockProvider(prisma)
    await eventually(async () => {
      expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    })
  })

  itIf(shared, 'several connections')('does not make others wait while the lock is held', async () => {
    const lock = await taken()
    const impatient = prismaLockProvider(other, { timeLimit: '10s' })
    await prisma.$transaction(async (tx) => {
      await guard(tx, lock)
      await expect(impatient.lock({ name: 'job', lockAtMostFor: '1m' })).resolves.toBeUndefined()
    })
    await lock.unlock()
  })

  // libsql never ends a statement that found the file busy: what its connection reads next would keep the file locked
  // for readers, and the commit would fail, until that statement is collected as garbage.
  itIf(shared && backend.adapter !== 'libsql', 'several connections')(
    'commits before its successor takes the lock, even if the lease ends in between',
    async () => {
      const lock = await taken(2_000)
      const order: string[] = []
      const transaction = prisma.$transaction(async (tx) => {
        await work(tx)
        await guard(tx, lock)
        await untilOver(tx)
        // Long enough for a successor that is let through to be seen.
        for (let turn = 0; turn < 20; turn++) {
          await tx.$queryRawUnsafe('select 1')
          await sleep(5)
        }
        order.push('still open')
      })
      await Promise.all([transaction, whenTaken().then(() => order.push('taken'))])
      expect(order).toEqual(['still open', 'taken'])
      expect(await worked()).toBe(1)
    },
  )

  const eachLevel = dialect in LEVELS_OF ? it.each(LEVELS_OF[dialect] ?? []) : it.skip.each(LEVELS)
  eachLevel('never commits under %s what was lost after the snapshot', async (level) => {
    if (level === 'Snapshot')
      await prisma.$executeRawUnsafe('alter database current set allow_snapshot_isolation on')
    for (const lose of [steal, expire]) {
      await prisma.$executeRawUnsafe('delete from shedlock')
      const lock = await taken()
      const transaction = prisma.$transaction(
        async (tx) => {
          await tx.$queryRawUnsafe('select id from orders')
          await work(tx)
          await lose()
          await guard(tx, lock)
        },
        { isolationLevel: level } as object,
      )
      const cause = SERIALIZES[`${dialect} ${level}`]
      await expect(transaction).rejects.toMatchObject(
        cause ? { meta: { driverAdapterError: { cause } } } : { code: 'LOCK_LOST' },
      )
      expect(await worked()).toBe(0)
    }
  })

  itIf(dialect === 'postgres', 'PostgreSQL')(
    'does not let a process that went silent pin the lock',
    async () => {
      const lock = await taken(2_000)
      const transaction = prisma.$transaction(async (tx) => {
        await work(tx)
        await guard(tx, lock)
        await whenTaken()
      })
      await expect(transaction).rejects.toThrow()
      expect(await worked()).toBe(0)
    },
  )
})
