import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test } from '@jest/globals'
import type { LockError } from '../../src/core/errors'
import type { Lock } from '../../src/core/lock'
import type { RawClientLike } from '../../src/prisma/prisma-client'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { prismaBackends, type TestClient } from './clients'
import { openPrisma } from './lock-table'
import { eventually } from '../eventually'
import { describeBackends } from '../backends'
import { itIf } from '../it-if'

const backends = prismaBackends().filter(({ dialect }) => dialect === 'sqlite')
const note = (client: RawClientLike, text: string): PromiseLike<number> =>
  client.$executeRawUnsafe('insert into orders (note) values (?)', text)

describeBackends(backends)('SQLite through Prisma: $name by $adapter', (backend) => {
  let prisma: TestClient
  let database: Awaited<ReturnType<typeof openPrisma>>['database']

  beforeEach(async () => {
    ;({ prisma, database } = await openPrisma(backend))
  })

  const isHeld = async (lockName: string): Promise<boolean> => {
    const now = `strftime('%Y-%m-%d %H:%M:%f', 'now')`
    const held = `select 1 from shedlock where name = ? and lock_until > ${now}`
    return ((await prisma.$queryRawUnsafe(held, lockName)) as unknown[]).length > 0
  }

  // libsql: PrismaClientKnownRequestError, "no such table" – its transaction opens another, empty database.
  const transactions = !(backend.name === 'sqlite-memory' && backend.adapter === 'libsql')
  const itBeside = itIf(transactions, 'transactions beside others')

  itBeside("no lock vanishes or appears by the app's transactions", async () => {
    const provider = prismaLockProvider(prisma, { timeLimit: '30s' })
    let running = true
    let rolledBack = 0

    const app = async (): Promise<void> => {
      while (running) {
        await prisma
          .$transaction(async (transaction) => {
            await note(transaction, 'in a transaction')
            await sleep(Math.random() * 5)
            if (Math.random() < 0.7) throw new Error('rolled back')
          })
          .catch(() => rolledBack++)
        await sleep(Math.random() * 2)
      }
    }
    const locker = async (index: number): Promise<number> => {
      let steps = 0
      let lock: Lock | undefined
      const lockName = `job ${index}`
      while (steps < 20 || rolledBack <= 10) {
        if (lock === undefined) lock = await provider.lock({ name: lockName, lockAtMostFor: '1h' })
        else if (Math.random() < 0.3) await lock.extend('1h')
        else lock = await lock.unlock().then(() => undefined)
        await sleep(Math.random() * 5)
        expect(await isHeld(lockName)).toBe(lock !== undefined)
        steps++
      }
      return steps
    }

    const apps = [app(), app()]
    await Promise.all([1, 2, 3, 4].map(locker))
    running = false
    await Promise.all(apps)
    expect(rolledBack).toBeGreaterThan(10)
  })

  test('no write of the app is lost by a lock beside it, nor by one that fails', async () => {
    const provider = prismaLockProvider(prisma, { timeLimit: '30s' })
    let running = true
    const locker = async (index: number): Promise<void> => {
      while (running) await (await provider.lock({ name: `job ${index % 2}`, lockAtMostFor: '1h' }))?.unlock()
    }
    const doomed = prismaLockProvider(prisma, { tableName: 'doomed', timeLimit: '30s' })
    await doomed.table.create()
    const lock = await doomed.lock({ name: 'job', lockAtMostFor: '1h' })
    await prisma.$executeRawUnsafe('drop table doomed')
    const failing = async (): Promise<void> => {
      while (running) await expect(lock?.fencingToken()).rejects.toMatchObject({ code: 'TABLE_MISSING' })
    }
    const lockers = [...[1, 2, 3, 4].map(locker), failing()]
    for (let written = 0; written < 60; written++) await note(prisma, 'alone')
    running = false
    await Promise.all(lockers)
    expect(await prisma.$queryRawUnsafe(`select 1 from orders`)).toHaveLength(60)
  })

  itBeside('a lock that is asked for inside an open transaction fails, and leaves nothing', async () => {
    const provider = prismaLockProvider(prisma, { timeLimit: '1s' })
    const job = { name: 'job', lockAtMostFor: '1h' }
    await provider.lock({ name: 'the table is checked', lockAtMostFor: '1m' })
    await prisma.$transaction(async (transaction) => {
      await note(transaction, 'open')
      await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TIMEOUT' })
    })
    expect(await prisma.$queryRawUnsafe(`select note from orders`)).toEqual([{ note: 'open' }])
    await eventually(async () => expect(await provider.lock(job)).toBeDefined())
  })

  itIf(backend.name === 'sqlite' && backend.adapter === 'libsql', 'libsql with a file')(
    'no lock is acquired by a write that is never committed, after a write of the app found the file busy',
    async () => {
      const other = await database.connect()
      const attempt = (client: TestClient) =>
        prismaLockProvider(client, { timeLimit: '1s' })
          .lock({ name: 'job', lockAtMostFor: '1h' })
          .then(
            (lock) => lock && 'acquired',
            (error: unknown) => (error as LockError).code,
          )
      await other.$transaction(async (transaction) => {
        await note(transaction, 'keeps the file')
        await expect(note(prisma, 'too late')).rejects.toThrow()
      })
      expect([await attempt(prisma), await attempt(other)]).toEqual(['acquired', undefined])
    },
  )
})
