import assert from 'node:assert/strict'
import { beforeAll, expect, it } from '@jest/globals'
import type { Lock } from '../../src/core/lock'
import { type DialectName, sql, type SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { idsOf, withSessions } from '../backends/server-sessions'
import { everyClient, openedClient } from '../conformance/every-client'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { blockRow } from './block-row'

const clients = withSessions(everyClient())

const POOL_SIZE = 10
/**
 * No pool closes a connection by itself: pg's does if it is idle for ten seconds, and mariadb's if it has not answered a ping within a
 * quarter of a second, as on a busy machine.
 */
const poolOptions = (backend: DialectName) => {
  const extra = backend === 'postgres' ? { idleTimeoutMillis: 0 } : {}
  return {
    TypeORM: { poolSize: POOL_SIZE, extra },
    Prisma: { max: POOL_SIZE, connectionLimit: POOL_SIZE, pingTimeout: 10_000, ...extra },
  }
}
const lockAtMostFor = '5m'

describeBackends(clients)('a row that another transaction keeps locked, by $title', (each) => {
  const client = openedClient(each, {}, poolOptions(each.dialect)[each.orm])
  let provider: SqlLockProvider

  const ids = (statement: string): Promise<string[]> => idsOf(client.observer, statement)
  const ofApp = () => client.executor.query(sql`select 1 as one`, {})
  /** Expects that the work ends with `TIMEOUT`, ends no session, and leaves no statement behind that waits. */
  const expectBusy = async (work: () => Promise<unknown>): Promise<void> => {
    const before = await ids(each.sessions.all)
    await expect(work()).rejects.toEqual(lockError('TIMEOUT', 'another transaction has locked its row'))
    expect(await ids(each.sessions.waiting)).toEqual([])
    expect(await ids(each.sessions.all)).toEqual(expect.arrayContaining(before))
  }

  const acquired = async (name: string, slot?: number): Promise<Lock> => {
    const lock = await client.createProvider().lock({ name, lockAtMostFor, slot })
    assert(lock)
    return lock
  }
  const free = async (name: string, slot?: number): Promise<void> => (await acquired(name, slot)).unlock()

  beforeAll(async () => {
    await free('first')
    provider = client.createProvider({ timeLimit: '2s' })
    await provider.table.list()
    await Promise.all(Array.from({ length: POOL_SIZE }, ofApp))
  })

  it('leaves the pool to the app, however many calls there are', async () => {
    const job = { name: 'many', lockAtMostFor }
    await free(job.name)
    const unblock = await blockRow(client.observer, job.name)
    const before = await ids(each.sessions.all)
    let ended = 0
    const calls = Array.from({ length: 3 * POOL_SIZE }, () => provider.lock(job).finally(() => ended++))
    const answers = Promise.allSettled(calls)
    for (let query = 0; query < 3; query++) await ofApp()
    expect(ended).toBe(0)
    for (const answer of await answers)
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'TIMEOUT', lockName: job.name } })
    expect(await ids(each.sessions.waiting)).toEqual([])
    expect(await ids(each.sessions.all)).toEqual(expect.arrayContaining(before))
    await unblock()
    await (await provider.lock(job))?.unlock()
  })

  it.each<[string, (name: string) => Promise<() => Promise<unknown>>]>([
    [
      'an acquisition',
      async (name) => {
        await free(name)
        return () => provider.lock({ name, lockAtMostFor })
      },
    ],
    [
      'the acquisition of a slot',
      async (name) => {
        await free(name, 1)
        return () => provider.lock({ name, lockAtMostFor, slot: 2 })
      },
    ],
    [
      'a slot whose last run failed',
      async (name) => {
        await (await acquired(name, 1)).unlock({ outcome: 'failed' })
        return () => provider.lock({ name, lockAtMostFor, slot: 1, untilSucceeded: true })
      },
    ],
    [
      'a pause',
      async (name) => {
        await free(name)
        return () => provider.table.pause(name, { duration: '1m', reason: 'test' })
      },
    ],
    [
      'the end of a pause',
      async (name) => {
        await provider.table.pause(name, { duration: '1m', reason: 'test' })
        return () => provider.table.resume(name)
      },
    ],
    [
      "the release of another's lock",
      async (name) => {
        await acquired(name)
        const seen = await provider.table.find(name)
        assert(seen)
        return () => provider.table.release(seen)
      },
    ],
    [
      'an extension',
      async (name) => {
        const lock = await provider.lock({ name, lockAtMostFor })
        assert(lock)
        return () => lock.extend('10m')
      },
    ],
  ])('is busy for %s, which costs no session', async (what, prepare) => {
    const work = await prepare(what)
    const unblock = await blockRow(client.observer, what.replace("'", "''"))
    await expectBusy(work)
    await unblock()
    await work()
  })

  it.each([
    ['a run', undefined, 'succeeded'],
    ['a slot', 1, 'succeeded'],
    ['a slot that nothing used', 1, 'unused'],
  ] as const)('is released in the background once it is free, after %s', async (name, slot, outcome) => {
    const lock = await provider.lock({ name, lockAtMostFor, slot })
    assert(lock)
    const unblock = await blockRow(client.observer, name)
    await expectBusy(() => lock.unlock({ outcome }))
    await unblock()
    await eventually(async () => expect(await client.table.isHeld(name)).toBe(false))
  })

  it('is busy while its insert is not committed', async () => {
    const inserting = client.observer.createQueryRunner()
    await inserting.startTransaction()
    await inserting.query(
      `insert into shedlock values ('new', '2000-01-01', '2000-01-01', 'another program')`,
    )
    await expect(provider.lock({ name: 'new', lockAtMostFor })).rejects.toEqual(lockError('TIMEOUT'))
    await eventually(async () => expect(await ids(each.sessions.waiting)).toEqual([]))
    await inserting.commitTransaction()
    await inserting.release()
    await (await provider.lock({ name: 'new', lockAtMostFor }))?.unlock()
  })
})
