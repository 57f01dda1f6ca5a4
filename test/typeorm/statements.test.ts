import type { DataSource } from 'typeorm'
import { beforeAll, expect, it } from '@jest/globals'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterFile } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
import { idsOf, SESSIONS } from '../backends/server-sessions'
import { createLockTable, type observeLockTable } from '../conformance/lock-table-observer'
import { eventually } from '../eventually'
import { itOn } from '../it-if'
import { blockRow } from '../sql/block-row'
import { Log } from './log'

const servers = availableBackends('postgres', 'mariadb', 'mysql', 'oracle', 'mssql')

describeBackends(servers)('the statements on $name', (backend) => {
  const job = { name: 'job', lockAtMostFor: '10m' }
  const statements = new Log(['query'])
  let observer: DataSource
  let dataSource: DataSource
  let table: ReturnType<typeof observeLockTable>

  beforeAll(async () => {
    const opened = await openDatabase(backend, {}, afterFile)
    observer = opened.dataSource
    dataSource = await opened.connect({ logger: statements, logging: ['query'] })
    table = await createLockTable(observer, backend.dialect)
  })

  itOn(backend, 'postgres')('wait for the disk, but for releases on which nothing depends', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const areDurable = (): boolean[] =>
      statements.seen.splice(0).map((text) => !text.includes("'synchronous_commit', 'off'"))
    for (const slot of [undefined, Date.now() + 1_000, Date.now() + 2_000]) {
      const lock = await provider.lock({ name: 'durable', lockAtMostFor: '10m', slot })
      await lock?.extend('20m')
      expect(areDurable()).not.toContain(false)
      await lock?.unlock({ outcome: 'succeeded' })
      expect(areDurable()).toEqual([slot !== undefined])
    }
  })

  it('refuse at once, without waiting for the lock of the row', async () => {
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '10s' })
    const lock = await provider.lock(job)
    const unblock = await blockRow(observer, 'job')
    expect(await provider.lock(job)).toBeUndefined()
    await unblock()
    await lock?.unlock()
  })

  itOn(backend, 'postgres')('leave the row untouched when they are refused', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const lock = await provider.lock(job)
    // xmax is set when the row is locked, ctid and xmin when it is written.
    const row = (): Promise<unknown> => observer.query('select xmin, xmax, ctid from shedlock')
    const before = await row()
    for (let time = 0; time < 10; time++) expect(await provider.lock(job)).toBeUndefined()
    for (let slot = 1; slot < 10; slot++) expect(await provider.lock({ ...job, slot })).toBeUndefined()
    expect(await row()).toEqual(before)
    await lock?.unlock()
    const unlocked = await row()
    for (let slot = 1; slot < 10; slot++) expect(await provider.lock({ ...job, slot })).toBeUndefined()
    expect(await row()).toEqual(unlocked)
  })

  itOn(backend, 'postgres')('read the clock when a row is written, after waiting for the table', async () => {
    const provider = typeOrmLockProvider(dataSource, { timeLimit: '1m' })
    const locking = observer.createQueryRunner()
    await locking.startTransaction()
    await locking.query('lock table shedlock in share mode')
    const clockBefore = async (): Promise<number> => {
      const waiting = () => idsOf(observer, SESSIONS.postgres.waiting)
      await eventually(async () => expect(await waiting()).toHaveLength(1), { interval: 5 })
      const now = await table.clock()
      await locking.commitTransaction()
      await locking.release()
      return now
    }
    const [lock, before] = await Promise.all([provider.lock(job), clockBefore()])
    const row = await table.findRow('job')
    expect(row?.lockedAt).toBeGreaterThanOrEqual(before)
    expect(row?.lockUntil).toBeGreaterThanOrEqual(before + 600_000)
    await lock?.unlock()
  })

  itOn(backend, 'postgres')('cut times to milliseconds in a column that could hold more', async () => {
    await observer.query(
      'create table fine (name varchar(64) primary key, lock_until timestamp not null, locked_at timestamp not null, locked_by varchar(255) not null)',
    )
    const provider = typeOrmLockProvider(dataSource, { tableName: 'fine' })
    for (let time = 0; time < 5; time++) {
      const lock = await provider.lock(job)
      await lock?.extend('10m')
      await lock?.unlock()
      const uncut = `select * from fine where extract(microseconds from lock_until)::int % 1000 + extract(microseconds from locked_at)::int % 1000 > 0`
      expect(await observer.query(uncut)).toEqual([])
    }
  })
})
