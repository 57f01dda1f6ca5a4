import { setTimeout as sleep } from 'node:timers/promises'
import type { DataSource } from 'typeorm'
import { afterEach, beforeAll, expect, it } from '@jest/globals'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { describeBackends } from '../backends'
import { idsOf, withSessions } from '../backends/server-sessions'
import { everyClient, openedClient } from '../conformance/every-client'
import { acquireLock } from '../conformance/sql-expectations'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { lockRow } from './lock-row'

const POOL_SIZE = 10
/** MySQL waits for a second at least. */
const timeLimit = '4s'
const lockAtMostFor = '5m'

/** @returns a function that unlocks the table */
async function lockTable(observer: DataSource, isPostgres: boolean): Promise<() => Promise<void>> {
  const blocker = observer.createQueryRunner()
  if (isPostgres) await blocker.startTransaction()
  await blocker.query(
    isPostgres ? 'lock table shedlock in access exclusive mode' : 'lock tables shedlock write',
  )
  return async () => {
    if (isPostgres) await blocker.commitTransaction()
    else await blocker.query('unlock tables')
    await blocker.release()
  }
}

describeBackends(withSessions(everyClient()))('a table that another session locks, by $title', (each) => {
  const isPostgres = each.dialect === 'postgres'
  // Through Prisma, nothing but the server's own limit ends a statement of PostgreSQL that waits for a table.
  const extra = isPostgres ? { idleTimeoutMillis: 0, statement_timeout: 1_000 } : {}
  const client = openedClient(
    each,
    {},
    each.orm === 'TypeORM'
      ? { poolSize: POOL_SIZE }
      : { max: POOL_SIZE, connectionLimit: POOL_SIZE, ...extra },
  )
  let provider: SqlLockProvider
  let unblock: (() => Promise<void>) | undefined

  const block = async (): Promise<void> => {
    const end = await lockTable(client.observer, isPostgres)
    unblock = () => {
      unblock = undefined
      return end()
    }
  }
  const held = (name: string) => acquireLock(provider, { name, lockAtMostFor })

  beforeAll(async () => {
    provider = client.createProvider({ timeLimit })
    await (await provider.lock({ name: 'first', lockAtMostFor }))?.unlock()
  })
  afterEach(() => unblock?.())

  it('is in the way of every call, and nothing waits for it afterwards', async () => {
    const extended = await held('extension')
    const released = await held('release')
    const seen = await lockRow(provider, 'release')
    const { table } = provider
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      acquisition: () => provider.lock({ name: 'acquisition', lockAtMostFor }),
      slot: () => provider.lock({ name: 'slot', lockAtMostFor, slot: 2 }),
      'until it succeeded': () =>
        provider.lock({ name: 'until', lockAtMostFor, slot: 2, untilSucceeded: true }),
      extension: () => extended.extend('10m'),
      token: () => extended.fencingToken(),
      release: () => released.unlock(),
      "another's release": () => table.release(seen),
      pause: () => table.pause('pause', { duration: '1m', reason: 'test' }),
      list: () => table.list(),
    }
    const run = (): Promise<Record<string, unknown>> => {
      const running = Object.entries(calls).map(async ([title, call]): Promise<[string, unknown]> => [
        title,
        await call().then(
          () => 'done',
          (error: unknown) => error,
        ),
      ])
      return Promise.all(running).then(Object.fromEntries<unknown>)
    }
    await block()
    const refused = lockError('TIMEOUT', 'table is locked')
    const results = await run()
    expect(results).toEqual(Object.fromEntries(Object.keys(calls).map((title) => [title, refused])))
    await eventually(async () => expect(await idsOf(client.observer, each.sessions.waiting)).toEqual([]))
    await unblock?.()
    await provider.drain()
    for (const title of ['acquisition', 'list', 'extension'] as const) await calls[title]?.()
  })

  it('lets nothing wait that a new provider does first', async () => {
    const firstCalls: ((provider: SqlLockProvider) => Promise<unknown>)[] = [
      (fresh) => fresh.lock({ name: 'fresh', lockAtMostFor }),
      ({ table }) => table.check(),
      ({ table }) => table.create(),
      ({ table }) => table.place(),
    ]
    const run = firstCalls.map((call) => {
      const fresh = client.createProvider({ timeLimit })
      return () => call(fresh)
    })
    await block()
    // What is read from the catalogue needs no lock.
    const refused = (error: unknown): void => expect(error).toEqual(lockError('TIMEOUT'))
    await Promise.all(run.map((call) => call().catch(refused)))
    await eventually(async () => expect(await idsOf(client.observer, each.sessions.waiting)).toEqual([]))
    await unblock?.()
    for (const call of run) await call()
  })
})

describeBackends(withSessions(everyClient()))('a table locked for more than a second, by $title', (each) => {
  const client = openedClient(each)

  it('is waited for by every call', async () => {
    const provider = client.createProvider({ timeLimit: '20s' })
    const acquired = (name: string, slot?: number) => acquireLock(provider, { name, lockAtMostFor, slot })
    for (const [name, slot] of [['free'], ['slot', 1]] as const) await (await acquired(name, slot)).unlock()
    await (await acquired('until', 1)).unlock({ outcome: 'failed' })
    await acquired('held')
    const extended = await acquired('extended')
    const released = await acquired('released')
    const unblock = await lockTable(client.observer, each.dialect === 'postgres')
    const answers = Promise.all([
      provider.lock({ name: 'new', lockAtMostFor }),
      provider.lock({ name: 'free', lockAtMostFor }),
      provider.lock({ name: 'slot', lockAtMostFor, slot: 2 }),
      provider.lock({ name: 'until', lockAtMostFor, slot: 1, untilSucceeded: true }),
      provider.lock({ name: 'held', lockAtMostFor }),
      extended.extend('10m'),
      released.unlock(),
    ])
    await sleep(1_500)
    await unblock()
    const locks = Array.from({ length: 4 }, () => expect.anything())
    expect(await answers).toEqual([...locks, undefined, undefined, undefined])
  })
})

const throughPrisma = withSessions(everyClient()).filter(
  ({ dialect, orm }) => dialect === 'postgres' && orm === 'Prisma',
)
describeBackends(
  throughPrisma.flatMap((each) => [
    { ...each, waits: 'that waits', limits: {}, first: 'TIMEOUT' as const },
    {
      ...each,
      waits: 'that stops waiting',
      limits: { query_timeout: 600 },
      first: 'DATABASE_ERROR' as const,
    },
  ]),
)('a table that another session keeps locked, and a client $waits, by $title', (each) => {
  const client = openedClient(each, {}, { max: POOL_SIZE, idleTimeoutMillis: 0, ...each.limits })

  it('leaves no more statements on the server than begin before one is silent', async () => {
    const provider = client.createProvider({ timeLimit: '1s' })
    await (await provider.lock({ name: 'first', lockAtMostFor }))?.unlock()
    let unblock = await lockTable(client.observer, true)
    const lock = (name: string) => provider.lock({ name, lockAtMostFor })
    await expect(lock('job')).rejects.toEqual(lockError(each.first))
    for (const name of ['job', 'second', 'third'])
      await expect(lock(name)).rejects.toEqual(lockError('TIMEOUT', 'table is locked'))
    expect(await idsOf(client.observer, each.sessions.waiting)).toHaveLength(1)
    await unblock()
    await (await lock('job'))?.unlock()
    unblock = await lockTable(client.observer, true)
    await Promise.allSettled(Array.from({ length: 30 }, (_, number) => lock(`job ${number}`)))
    const waiting = await idsOf(client.observer, each.sessions.waiting)
    expect(waiting.length).toBeLessThanOrEqual(POOL_SIZE)
    await unblock()
    await (await lock('job'))?.unlock()
  })
})
