import { beforeAll, expect, it } from '@jest/globals'
import { type DialectName, sql, type SqlLockProvider } from '../../src/sql/internal'
import { describeBackends } from '../backends'
import { idsOf, withSessions } from '../backends/server-sessions'
import { everyClient, openedClient } from '../conformance/every-client'
import { acquireLock } from '../conformance/sql-expectations'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { blockRow } from './block-row'
import { lockRow } from './lock-row'

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
  const acquired = (name: string, slot?: number) =>
    acquireLock(client.createProvider(), { name, lockAtMostFor, slot })
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

  it('is busy for every call, which costs no session and leaves nothing that waits', async () => {
    const { table } = provider
    const held = (name: string, slot?: number) => acquireLock(provider, { name, lockAtMostFor, slot })
    await Promise.all([free('acquisition'), free('slot', 1), free('pause')])
    await (await acquired('until', 1)).unlock({ outcome: 'failed' })
    await table.pause('resume', { duration: '1m', reason: 'test' })
    await acquired('of another')
    const seen = await lockRow(provider, 'of another')
    const extended = await held('extension')
    const run = await held('run')
    const slot = await held('slot that ran', 1)
    const unused = await held('unused slot', 1)
    const inBackground: Readonly<Record<string, () => Promise<unknown>>> = {
      run: () => run.unlock({ outcome: 'succeeded' }),
      'slot that ran': () => slot.unlock({ outcome: 'succeeded' }),
      'unused slot': () => unused.unlock({ outcome: 'unused' }),
    }
    const again: Readonly<Record<string, () => Promise<unknown>>> = {
      acquisition: () => provider.lock({ name: 'acquisition', lockAtMostFor }),
      slot: () => provider.lock({ name: 'slot', lockAtMostFor, slot: 2 }),
      until: () => provider.lock({ name: 'until', lockAtMostFor, slot: 1, untilSucceeded: true }),
      pause: () => table.pause('pause', { duration: '1m', reason: 'test' }),
      resume: () => table.resume('resume'),
      'of another': () => table.release(seen),
      extension: () => extended.extend('10m'),
    }
    const calls = Object.entries({ ...again, ...inBackground })
    const unblock = await blockRow(client.observer, ...calls.map(([name]) => name))
    const before = await ids(each.sessions.all)
    const answers = await Promise.all(
      calls.map(async ([name, call]) => [name, await call().catch((error: unknown) => error)] as const),
    )
    const busy = lockError('TIMEOUT', 'another transaction has locked its row')
    expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(calls.map(([name]) => [name, busy])))
    expect(await ids(each.sessions.waiting)).toEqual([])
    expect(await ids(each.sessions.all)).toEqual(expect.arrayContaining(before))
    await unblock()
    for (const call of Object.values(again)) await call()
    for (const name of Object.keys(inBackground))
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
