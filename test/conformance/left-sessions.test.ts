import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { describeBackends } from '../backends'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { afterTest } from '../after-test'
import { lockError } from '../lock-error'
import { everyClient, type ClientCase, type OpenClient } from './every-client'
import { observeLockTable } from './lock-table-observer'

// What an app leaves behind in a connection that it gives back to its pool.

const servers = everyClient().filter(({ backend }) => ['postgres', 'mariadb', 'mysql'].includes(backend))
const job = { name: 'job', lockAtMostFor: '10m' }
/** Pools of one connection, by the options of every driver. */
const ONE = { poolSize: 1, max: 1, connectionLimit: 1 }

/** Opens a client with one connection, on which the app then runs statements. */
async function opened(each: ClientCase) {
  const client = await each.open({}, ONE)
  return { client, leave: client.app }
}

/** How many seconds the oldest transaction of this database is idle already. */
async function ageOf({ observer }: OpenClient): Promise<number> {
  const [row] = await observer.query<{ age: string | null }[]>(
    `select extract(epoch from max(clock_timestamp() - xact_start)) as age from pg_stat_activity
    where state like 'idle in transaction%' and datname = current_database()`,
  )
  return Number(row?.age ?? 0)
}

describeBackends(servers)('a connection by $title to which the app', (each) => {
  const isPostgres = each.dialect === 'postgres'

  // Prisma knows no database of its connections, and sends MySQL no `use`.
  itIf(isPostgres || each.orm === 'TypeORM', 'a client that knows the schema of its connections')(
    'gave another schema before the first lock does not change which table is used',
    async () => {
      const tenant = `tenant_${randomUUID().replaceAll('-', '').slice(0, 12)}`
      const { client, leave } = await opened(each)
      await client.observer.query(`create schema ${tenant}`)
      afterTest(() => client.observer.query(`drop schema ${tenant}${isPostgres ? ' cascade' : ''}`))
      const other = observeLockTable(client.observer, each.dialect, { schema: tenant })
      await other.createTable()
      await leave(isPostgres ? `set search_path to ${tenant}` : `use ${tenant}`)
      await client.createProvider().lock(job)
      expect(await client.table.isHeld('job')).toBe(true)
      expect(await other.findRow('job')).toBeUndefined()
    },
  )

  const leavesTransactions = !(each.orm === 'Prisma' && each.backend === 'mysql')
  describe.each(['begin', 'begin; read', 'begin; write'])('left an open transaction with %s', (begin) => {
    const [first = '', second] = begin.split('; ')
    itIf(leavesTransactions, 'a client that can leave one')('has no lock that vanishes with it', async () => {
      const { client, leave } = await opened(each)
      const provider = client.createProvider()
      const held = await provider.lock({ name: 'held', lockAtMostFor: '10m' })
      const kept = await provider.lock({ name: 'kept', lockAtMostFor: '10m', lockAtLeastFor: '5m' })
      const before = await client.table.findRow('held')
      await leave(first)
      if (second === 'read') await leave('select * from shedlock')
      if (second === 'write') await leave("update shedlock set locked_by = locked_by where name = 'held'")
      // Without a status of the driver, PostgreSQL shows the transaction only when it is older than a second, or has written.
      if (each.dialect === 'postgres' && second !== 'write')
        await eventually(async () => expect(await ageOf(client)).toBeGreaterThan(1))
      const rows: Record<string, unknown> = {}
      for (const [name, step] of Object.entries({
        lock: () => provider.lock(job),
        slot: () => provider.lock({ ...job, name: 'slot', slot: 1_700_000_000_000 }),
        extended: () => held?.extend('1h'),
        kept: () => kept?.unlock(),
      }))
        rows[name] = await Promise.resolve(step()).then(
          () => 'done',
          (error: unknown) => error,
        )
      await leave('rollback')
      const refused = lockError('INVALID_CLIENT', /open transaction/)
      for (const result of Object.values(rows)) if (result !== 'done') expect(result).toEqual(refused)
      expect(await client.table.isHeld('job')).toBe(rows['lock'] === 'done')
      expect(await client.table.isHeld('slot')).toBe(rows['slot'] === 'done')
      const after = await client.table.findRow('held')
      expect((after?.lockUntil ?? 0) > (before?.lockUntil ?? 0)).toBe(rows['extended'] === 'done')
      await provider.drain()
      expect((await client.table.findRow('kept'))?.lockedBy).toMatch(/unlocked$/)
    })
  })
})

const mysqlLike = servers.filter(({ dialect }) => dialect !== 'postgres')

describeBackends(mysqlLike)('a connection by $title with a clock of its own', (each) => {
  it.each([3600, -3600, 86_400])('of %s seconds more is refused', async (seconds) => {
    const { client, leave } = await opened(each)
    const provider = client.createProvider({ timeLimit: '1s' })
    const held = await provider.lock({ name: 'held', lockAtMostFor: '10m' })
    const before = await client.table.findRow('held')
    await leave(`set timestamp = unix_timestamp() + ${seconds}`)
    const moved = lockError('INVALID_CLIENT', /set timestamp/)
    await expect(provider.lock({ name: 'held', lockAtMostFor: '10m' })).rejects.toEqual(moved)
    await expect(provider.lock(job)).rejects.toEqual(moved)
    await expect(provider.lock({ ...job, slot: 1_700_000_000_000 })).rejects.toEqual(moved)
    await expect(held?.extend('1h')).rejects.toEqual(moved)
    await expect(provider.table.list()).rejects.toEqual(moved)
    await expect(provider.table.pause('paused', { duration: '1h', reason: 'test' })).rejects.toEqual(moved)
    expect(await client.table.findRow('held')).toEqual(before)
    await leave('set timestamp = default')
    expect(await provider.lock(job)).toBeDefined()
  })

  it.each([3600, -3600, 86_400])('of %s seconds more is no obstacle to a release', async (seconds) => {
    const { client, leave } = await opened(each)
    const provider = client.createProvider()
    const locks = [
      await provider.lock({ name: 'plain', lockAtMostFor: '10m' }),
      await provider.lock({ name: 'slot', lockAtMostFor: '10m', slot: 1_700_000_000_000 }),
      await provider.lock({ name: 'unused', lockAtMostFor: '10m' }),
    ]
    await leave(`set timestamp = unix_timestamp() + ${seconds}`)
    for (const [index, lock] of locks.entries())
      await lock?.unlock({ outcome: index === 2 ? 'unused' : 'succeeded' })
    await leave('set timestamp = default')
    // By its holder's clock, a lease began a little earlier than by the database's.
    for (const { name } of locks.flatMap((lock) => lock ?? []))
      await eventually(async () => expect(await client.table.isHeld(name)).toBe(false))
  })
})

describeBackends(mysqlLike)('a connection by $title with a limit of rows', (each) => {
  it.each([0, 1])('of %s finds the table, and lists all locks', async (limit) => {
    const { client, leave } = await opened(each)
    await leave(`set sql_select_limit = ${limit}`)
    const provider = client.createProvider()
    for (const name of ['one', 'two']) expect(await provider.lock({ ...job, name })).toBeDefined()
    expect((await provider.table.list()).map(({ name }) => name)).toEqual(['one', 'two'])
    expect(await provider.table.check()).toEqual([])
    await leave('set sql_select_limit = default')
  })
})
