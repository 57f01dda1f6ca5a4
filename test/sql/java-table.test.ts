import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { DialectName } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'

const job = { name: 'job', lockAtMostFor: '1h' }
/** As ShedLock's documentation has them for Java services. */
const TABLES: Readonly<Partial<Record<DialectName, string>>> = {
  postgres: `create table shedlock (name varchar(64) not null, lock_until timestamp not null,
    locked_at timestamp not null, locked_by varchar(255) not null, primary key (name))`,
  mysql: `create table shedlock (name varchar(64) not null, lock_until timestamp(3) not null,
    locked_at timestamp(3) not null default current_timestamp(3), locked_by varchar(255) not null, primary key (name))`,
  mssql: `create table shedlock (name varchar(64) not null, lock_until datetime2 not null,
    locked_at datetime2 not null, locked_by varchar(255) not null, primary key (name))`,
  oracle: `create table shedlock (name varchar(64) not null, lock_until timestamp not null,
    locked_at timestamp not null, locked_by varchar(255) not null, primary key (name))`,
}
const WARNINGS: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  postgres: [],
  mysql: ['COLUMN_TYPE', 'COLUMN_TYPE', 'CASE_IGNORED'],
  // What fixes the name's type fixes its collation, too.
  mssql: ['COLUMN_TYPE', 'COLUMN_TYPE'],
  oracle: [],
}
const of = <T>(dialect: DialectName, choice: Readonly<Partial<Record<DialectName, T>>>): T | undefined =>
  choice[dialect === 'mariadb' ? 'mysql' : dialect]

const backends = availableBackends().filter(({ dialect }) => of(dialect, TABLES) !== undefined)

describeBackends(backends)("a Java service's table on $name", (backend) => {
  let dataSource: DataSource

  beforeEach(async () => {
    ;({ dataSource } = await openDatabase(backend))
    await dataSource.query(of(backend.dialect, TABLES) ?? '')
  })

  it('keeps the locks as it is, and is fixed with a lock held', async () => {
    const provider = typeOrmLockProvider(dataSource)
    const lock = await provider.lock(job)
    expect(await provider.lock(job)).toBeUndefined()

    const findings = await provider.table.check()
    expect(findings.map(({ code }) => code)).toEqual(of(backend.dialect, WARNINGS))
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])

    for (const statement of findings.flatMap(({ fix }) => fix)) await dataSource.query(statement)
    expect(await provider.table.check()).toEqual([])
    expect(await provider.lock(job)).toBeUndefined()
    await lock?.unlock()
    expect(await provider.lock(job)).toBeDefined()
  })

  it('lets a slot that failed run again beside microseconds, which another clock wrote', async () => {
    const [mysql, oracle] = [of(backend.dialect, { mysql: true }), backend.dialect === 'oracle']
    if (mysql) await dataSource.query('alter table shedlock modify locked_at timestamp(6) not null')
    const at = (time: string): string => `${oracle ? 'timestamp ' : ''}'2024-05-05 ${time}'`
    await dataSource.query(
      `insert into shedlock values ('job', ${at('11:00:00')}, ${at('10:00:00.000456')}, 'host/1/12000 failed')`,
    )
    const provider = typeOrmLockProvider(dataSource)
    const seen = await provider.table.find('job')
    const slot = Number(seen?.lockedAt)
    const lock = await provider.lock({ ...job, slot, untilSucceeded: true })
    expect(await lock?.fencingToken()).toBe(slot + 1)
    await lock?.unlock({ outcome: 'succeeded' })
    expect(await provider.lock({ ...job, slot, untilSucceeded: true })).toBeUndefined()
  })

  it("is left alone by TypeORM's synchronize, without the entity", async () => {
    const lock = await typeOrmLockProvider(dataSource).lock(job)
    const log = await dataSource.driver.createSchemaBuilder().log()
    expect(log.upQueries.map(({ query }) => query).filter((query) => query.includes('shedlock'))).toEqual([])
    await dataSource.synchronize()
    expect(await typeOrmLockProvider(dataSource).lock(job)).toBeUndefined()
    await lock?.unlock()
  })
})
