import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { raw } from '../../src/sql/sql'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { afterTest } from '../after-test'
import { prismaBackends } from '../prisma/clients'
import { describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { itIf } from '../it-if'
import { everyClient, type OpenClient } from './every-client'
import { createLockTable, type observeLockTable } from './lock-table-observer'

// Prisma knows no database of its connections, and sends MySQL no `use`.
const clients = everyClient().filter(
  ({ orm, backend }) => backend === 'postgres' || (backend === 'mariadb' && orm === 'TypeORM'),
)

describeBackends(clients)('one provider means one table, whatever a session of $title says', (each) => {
  const isPostgres = each.dialect === 'postgres'
  const tenant = `tenant_${randomUUID().replaceAll('-', '').slice(0, 12)}`
  /** Makes the tenant's table one that `check` must not report. */
  const spoil = `alter table ${tenant}.shedlock ${isPostgres ? 'set unlogged' : 'engine = MyISAM'}`
  const job = { name: 'job', lockAtMostFor: '10m' }
  let client: OpenClient
  let other: ReturnType<typeof observeLockTable>
  let provider: SqlLockProvider

  const open = async (poolSize: number) => {
    const opened = await each.open({}, { poolSize, max: poolSize })
    client = opened
    await client.observer.query(`create schema ${tenant}`)
    afterTest(() => opened.observer.query(`drop schema ${tenant}${isPostgres ? ' cascade' : ''}`))
    other = await createLockTable(client.observer, each.dialect, { schema: tenant })
    provider = client.createProvider()
  }

  /** What the app does on its connection, which it then gives back to the pool. */
  const become = async (schema: string) => {
    const statement = raw(isPostgres ? `set search_path to ${schema}` : `use ${schema}`)
    const run = () => client.executor.execute(statement, {})
    // mysql2 learns with the first attempt that MySQL does not prepare it.
    await run().catch(run)
  }

  it('also for simultaneous first locks whose sessions differ', async () => {
    await open(2)
    await Promise.all([become(tenant), provider.table.place()])
    const names = Array.from({ length: 8 }, (_, index) => `job-${index}`)
    await Promise.all(names.map((name) => provider.lock({ ...job, name })))
    const held = [client.table, other].map((table) => Promise.all(names.map((name) => table.isHeld(name))))
    const counts = (await Promise.all(held)).map((rows) => rows.filter(Boolean).length)
    expect(counts.toSorted()).toEqual([0, 8])
  })

  describe('on one connection', () => {
    beforeEach(() => open(1))

    it.each(Object.entries({ list: [], find: undefined, check: [] }))(
      'also for table.%s as the first of all',
      async (read, answer) => {
        await client.createProvider({ schema: tenant }).lock(job)
        await client.observer.query(spoil)
        await become(tenant)
        expect(await provider.table[read as 'find']('job')).toEqual(answer)
      },
    )

    it('before the first lock', async () => {
      await become(tenant)
      await provider.lock(job)
      expect(await client.table.isHeld('job')).toBe(true)
      expect(await other.findRow('job')).toBeUndefined()
    })

    it('after a lock', async () => {
      await (await provider.lock({ ...job, name: 'first' }))?.unlock()
      await client.observer.query(spoil)
      await become(tenant)
      const lock = await provider.lock(job)
      assert(lock)
      expect(await client.table.isHeld('job')).toBe(true)
      expect(await other.findRow('job')).toBeUndefined()
      await lock.extend('20m')
      expect(await lock.fencingToken()).toBe((await client.table.findRow('job'))?.lockedAt)
      expect(await provider.table.find('job')).toMatchObject({ held: true })
      expect((await provider.table.list()).map(({ name }) => name)).toEqual(['first', 'job'])
      expect(await provider.table.check()).toEqual([])
      await lock.unlock()
      expect(await client.table.isHeld('job')).toBe(false)
      const slot = { ...job, name: 'slot', slot: Date.now() }
      await (await provider.lock(slot))?.unlock({ outcome: 'failed' })
      await (await provider.lock({ ...slot, untilSucceeded: true }))?.unlock()
      expect(await provider.table.pause('job', { duration: '1h', reason: 'test' })).toBe(true)
      expect(await client.table.isHeld('job')).toBe(true)
      expect(await provider.table.resume('job')).toBe(true)
      await provider.table.create()
      expect(await other.findRow('job')).toBeUndefined()
      expect(await other.findRow('slot')).toBeUndefined()
    })

    it.each(['list', 'find', 'resume'] as const)('after table.%s', async (read) => {
      await provider.table[read]('job')
      await become(tenant)
      expect(await provider.lock(job)).toBeDefined()
      expect(await client.table.isHeld('job')).toBe(true)
      expect(await provider.table.find('job')).toBeDefined()
    })

    it('after it was missing, and a read has found it', async () => {
      await client.table.dropTable()
      await expect(provider.table.list()).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      await client.table.createTable()
      await provider.table.list()
      await become(tenant)
      expect(await provider.lock(job)).toBeDefined()
      expect(await client.table.isHeld('job')).toBe(true)
    })

    it('even when that table is gone', async () => {
      await (await provider.lock(job))?.unlock()
      await client.table.dropTable()
      await become(tenant)
      for (let attempt = 0; attempt < 2; attempt++)
        await expect(provider.lock(job)).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      expect(await other.findRow('job')).toBeUndefined()
    })

    itIf(isPostgres, 'PostgreSQL')('and the clock, although its functions are others there', async () => {
      await provider.lock(job)
      for (const declared of [
        'clock_timestamp() returns timestamptz',
        'date_trunc(text, timestamp) returns timestamp',
      ])
        await client.observer.query(`create function ${tenant}.${declared} return timestamp '2100-01-01'`)
      await become(`${tenant}, pg_catalog, public`)
      expect(await provider.lock(job)).toBeUndefined()
    })

    it.each(['again where it was', 'where the connection began'])('and is created %s', async (where) => {
      if (where === 'again where it was') await (await provider.lock(job))?.unlock()
      await client.table.dropTable()
      await become(tenant)
      await provider.table.create()
      expect(await provider.lock(job)).toBeDefined()
      expect(await client.table.isHeld('job')).toBe(true)
    })
  })
})

const prisma = prismaBackends().filter(({ name }) => name === 'postgres')

describeBackends(prisma)('Prisma on $name', (backend) => {
  it('means the table beside the models, whose schema is an option of the adapter', async () => {
    const { database, dataSource: observer } = await openDatabase(backend)
    await observer.query('create schema app')
    const models = await createLockTable(observer, backend.dialect, { schema: 'app' })
    const session = await createLockTable(observer, backend.dialect)
    const client = await database.connect({ adapter: { schema: 'app' } })
    await prismaLockProvider(client).lock({ name: 'models', lockAtMostFor: '1m' })
    expect(await models.isHeld('models')).toBe(true)
    await prismaLockProvider(client, { schema: 'public' }).lock({ name: 'named', lockAtMostFor: '1m' })
    expect(await session.isHeld('named')).toBe(true)
  })
})
