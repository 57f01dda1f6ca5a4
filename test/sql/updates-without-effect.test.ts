import { expect, it } from '@jest/globals'
import { raw } from '../../src/sql/sql'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { describeBackends } from '../backends'
import { everyClient } from '../conformance/every-client'
import { COUNT_CHANGED_ROWS } from '../conformance/session-settings'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'
import { KEEPING_TRIGGER } from './keeping-trigger'

const JOB = { name: 'job', lockAtMostFor: '1h' }
const UNCHANGED = lockError('DATABASE_ERROR', /changed no row for this lock, although .* row-level security/)

const clients = everyClient().filter(({ backend }) => backend in KEEPING_TRIGGER)
describeBackends(clients)('a trigger that prevents updates by $title', (each) => {
  it('is reported by an extension, a release and an operator, as long as the lock is held', async () => {
    // The trigger keeps the values of the rows that are found.
    const client = await each.open({}, each.dialect === 'mariadb' ? COUNT_CHANGED_ROWS[each.orm] : {})
    const provider = client.createProvider()
    const lock = await provider.lock(JOB)
    const short = await provider.lock({ name: 'short', lockAtMostFor: '1s' })
    for (const statement of KEEPING_TRIGGER[each.backend as 'postgres'])
      await client.observer.query(statement)
    await expect(lock?.extend('2h')).rejects.toEqual(UNCHANGED)
    const seen = await provider.table.find(JOB.name)
    await expect(seen && provider.table.release(seen)).rejects.toEqual(UNCHANGED)
    await expect(lock?.unlock()).rejects.toEqual(UNCHANGED)
    await eventually(async () => expect(await provider.table.find('short')).toMatchObject({ held: false }))
    await short?.unlock()
    await client.observer.query(`drop trigger keep${each.dialect === 'postgres' ? ' on shedlock' : ''}`)
    await provider.drain()
    expect(await provider.table.find(JOB.name)).toMatchObject({ held: false })
  })
})

const UNCOMMITTED = lockError('INVALID_CLIENT', /Autocommit is off/)
const ONE_CONNECTION = { TypeORM: { poolSize: 1 }, Prisma: { connectionLimit: 1 } } as const
// MySQL's clients and statements are the same.
const onMariaDb = everyClient().filter(({ backend }) => backend === 'mariadb')

describeBackends(onMariaDb)('a session by $title that has switched autocommit off', (each) => {
  const open = async () => {
    const client = await each.open({}, ONE_CONNECTION[each.orm])
    const switchTo = (autocommit: 0 | 1) => client.executor.execute(raw(`set autocommit = ${autocommit}`), {})
    return { client, switchTo, provider: client.createProvider() }
  }

  it.each([{}, { slot: new Date() }])('is refused a lock, %j, at first and later', async (slot) => {
    const { client, switchTo, provider } = await open()
    await (await provider.lock({ name: 'first', lockAtMostFor: '1m' }))?.unlock()
    await switchTo(0)
    // One lock has a row, and the other none.
    for (const name of ['first', 'job'])
      for (const each of [provider, client.createProvider()])
        await expect(each.lock({ ...JOB, ...slot, name })).rejects.toEqual(UNCOMMITTED)
    await switchTo(1)
    expect(await typeOrmLockProvider(client.observer).lock({ ...JOB, ...slot })).toBeDefined()
  })

  it('fails an extension, a release, a pause and an operator, because nobody else would see them', async () => {
    const { client, switchTo, provider } = await open()
    const { table } = typeOrmLockProvider(client.observer)
    await (await provider.lock({ name: 'free', lockAtMostFor: '1m' }))?.unlock()
    const unused = await provider.lock({ name: 'slot', lockAtMostFor: '1h', slot: new Date() })
    const lock = await provider.lock(JOB)
    const seen = await table.find(JOB.name)
    await switchTo(0)
    await expect(unused?.unlock({ outcome: 'unused' })).rejects.toEqual(UNCOMMITTED)
    await expect(lock?.extend('2h')).rejects.toEqual(UNCOMMITTED)
    await expect(seen && provider.table.release(seen)).rejects.toEqual(UNCOMMITTED)
    const paused = provider.table.pause('free', { duration: '1h', reason: 'r' })
    await expect(paused).rejects.toEqual(UNCOMMITTED)
    await expect(lock?.unlock()).rejects.toEqual(UNCOMMITTED)
    expect(await table.find(JOB.name)).toMatchObject({ lockUntil: seen?.lockUntil, held: true })
    await switchTo(1)
    await provider.drain()
    for (const { held } of await table.list()) expect(held).toBe(false)
  })
})
