import { describe, expect, it } from '@jest/globals'
import { describeBackends } from '../backends'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'
import { everyClient, type OpenClient } from './every-client'

// What an app leaves behind in a connection that it gives back to its pool.

const servers = everyClient().filter(({ backend }) => ['postgres', 'mariadb', 'mysql'].includes(backend))
const job = { name: 'job', lockAtMostFor: '10m' }
/** Pools of one connection, by the options of every driver. */
const ONE = { poolSize: 1, max: 1, connectionLimit: 1 }

/** How many seconds the oldest transaction of this database is idle already. */
async function ageOf({ observer }: OpenClient): Promise<number> {
  const [row] = await observer.query<{ age: string | null }[]>(
    `select extract(epoch from max(clock_timestamp() - xact_start)) as age from pg_stat_activity
    where state like 'idle in transaction%' and datname = current_database()`,
  )
  return Number(row?.age ?? 0)
}

describeBackends(servers)('a connection by $title to which the app', (each) => {
  const leavesTransactions = !(each.orm === 'Prisma' && each.backend === 'mysql')
  const begins = ['begin', 'begin; read', 'begin; write']
  const old = each.dialect === 'postgres' ? ['begin; a second'] : []
  describe.each([...begins, ...old])('left an open transaction with %s', (begin) => {
    const [first = '', second] = begin.split('; ')
    const isOld = second === 'a second'
    itIf(leavesTransactions, 'a client that can leave one')('has no lock that vanishes with it', async () => {
      const client = await each.open({}, ONE)
      const provider = client.createProvider()
      const held = await provider.lock({ name: 'held', lockAtMostFor: '10m' })
      const kept = await provider.lock({ name: 'kept', lockAtMostFor: '10m', lockAtLeastFor: '5m' })
      const before = await client.table.findRow('held')
      await client.app(first)
      if (second === 'read') await client.app('select * from shedlock')
      if (second === 'write')
        await client.app("update shedlock set locked_by = locked_by where name = 'held'")
      // PostgreSQL refuses the write if the transaction is older than a second, or has written.
      if (isOld) await eventually(async () => expect(await ageOf(client)).toBeGreaterThan(1))
      const steps = {
        lock: () => provider.lock(job),
        slot: () => provider.lock({ ...job, name: 'slot', slot: 1_700_000_000_000 }),
        extended: () => held?.extend('1h'),
        kept: () => kept?.unlock(),
      }
      const done: string[] = []
      for (const [name, step] of Object.entries(steps)) {
        const [result] = await Promise.allSettled([step()])
        if (result.status === 'fulfilled') done.push(name)
        else expect(result.reason).toEqual(lockError('INVALID_CLIENT', /open transaction/))
      }
      await client.app('rollback')
      expect(await client.table.isHeld('job')).toBe(done.includes('lock'))
      expect(await client.table.isHeld('slot')).toBe(done.includes('slot'))
      const after = await client.table.findRow('held')
      expect((after?.lockUntil ?? 0) > (before?.lockUntil ?? 0)).toBe(done.includes('extended'))
      await provider.drain()
      expect((await client.table.findRow('kept'))?.lockedBy).toMatch(/unlocked$/)
    })
  })
})

const mysqlLike = servers.filter(({ dialect }) => dialect !== 'postgres')

describeBackends(mysqlLike)('a connection by $title with a clock of its own', (each) => {
  it.each([3600, -3600])('of %s seconds more is refused', async (seconds) => {
    const client = await each.open({}, ONE)
    const provider = client.createProvider({ timeLimit: '1s' })
    const held = await provider.lock({ ...job, name: 'held' })
    const before = await client.table.findRow('held')
    await client.app(`set timestamp = unix_timestamp() + ${seconds}`)
    const moved = lockError('INVALID_CLIENT', /set timestamp/)
    await expect(provider.lock({ ...job, name: 'held' })).rejects.toEqual(moved)
    await expect(provider.lock(job)).rejects.toEqual(moved)
    await expect(provider.lock({ ...job, slot: 1_700_000_000_000 })).rejects.toEqual(moved)
    await expect(held?.extend('1h')).rejects.toEqual(moved)
    await expect(provider.table.list()).rejects.toEqual(moved)
    await expect(provider.table.pause('paused', { duration: '1h', reason: 'test' })).rejects.toEqual(moved)
    expect(await client.table.findRow('held')).toEqual(before)
    await client.app('set timestamp = default')
    expect(await provider.lock(job)).toBeDefined()
  })

  it.each([3600, -3600])('of %s seconds more is no obstacle to a release', async (seconds) => {
    const client = await each.open({}, ONE)
    const provider = client.createProvider()
    const plain = await provider.lock({ ...job, name: 'plain' })
    const slot = await provider.lock({ ...job, name: 'slot', slot: 1_700_000_000_000 })
    const unused = await provider.lock({ ...job, name: 'unused' })
    await client.app(`set timestamp = unix_timestamp() + ${seconds}`)
    await plain?.unlock({ outcome: 'succeeded' })
    await slot?.unlock({ outcome: 'succeeded' })
    await unused?.unlock({ outcome: 'unused' })
    await client.app('set timestamp = default')
    // By its holder's clock, a lease began a little earlier than by the database's.
    for (const name of ['plain', 'slot', 'unused'])
      await eventually(async () => expect(await client.table.isHeld(name)).toBe(false))
  })
})

describeBackends(mysqlLike)('a connection by $title with a limit of rows', (each) => {
  it.each([0, 1])('of %s finds the table, and lists all locks', async (limit) => {
    const client = await each.open({}, ONE)
    await client.app(`set sql_select_limit = ${limit}`)
    const provider = client.createProvider()
    for (const name of ['one', 'two']) expect(await provider.lock({ ...job, name })).toBeDefined()
    expect((await provider.table.list()).map(({ name }) => name)).toEqual(['one', 'two'])
    expect(await provider.table.check()).toEqual([])
  })
})
