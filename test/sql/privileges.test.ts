import { randomBytes } from 'node:crypto'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { availableBackends, describeBackends, type TestDatabase } from '../backends'
import { itIf } from '../it-if'

const backends = availableBackends().filter(({ dialect }) =>
  ['postgres', 'mysql', 'mariadb'].includes(dialect),
)

describeBackends(backends)('a user with few privileges on $name', (backend) => {
  const user = `shedlock_user_${randomBytes(4).toString('hex')}`
  const password = 'secret'
  const grantee = backend.dialect === 'postgres' ? `"${user}"` : `'${user}'@'%'`
  let database: TestDatabase
  let admin: DataSource
  let dataSource: DataSource

  beforeEach(async () => {
    database = await backend.create()
    admin = await new DataSource({
      ...database.typeOrm,
      migrations: [createShedLockMigration({ tableName: 'locks' })],
    }).initialize()
    await admin.runMigrations()
    await admin.query(
      backend.dialect === 'postgres'
        ? `create role ${grantee} login password '${password}'`
        : `create user ${grantee} identified by '${password}'`,
    )
    await admin.query(`grant select, insert, update on locks to ${grantee}`)
    const url = new URL(database.url)
    url.username = user
    url.password = password
    dataSource = await new DataSource({
      type: backend.dialect,
      url: url.href,
    } as DataSourceOptions).initialize()
  })

  afterEach(async () => {
    await dataSource.destroy()
    if (backend.dialect === 'postgres') await admin.query(`drop owned by ${grantee}`)
    await admin.query(`drop ${backend.dialect === 'postgres' ? 'role' : 'user'} ${grantee}`)
    await admin.destroy()
    await database.drop()
  })

  it('locks with select, insert and update on one table', async () => {
    const provider = typeOrmLockProvider(dataSource, { tableName: 'locks' })
    expect(await provider.checkTable()).toEqual([])

    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeUndefined()
    const longer = await lock?.extend('2m')
    await longer?.unlock()
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    expect(await provider.listLocks()).toHaveLength(1)
  })

  it.each(['insert', 'update'])('is told how to get a missing privilege to %s', async (privilege) => {
    await admin.query(`revoke ${privilege} on locks from ${grantee}`)
    const provider = typeOrmLockProvider(dataSource, { tableName: 'locks' })

    const findings = await provider.checkTable()
    expect(findings).toMatchObject([{ code: 'PRIVILEGE_MISSING', severity: 'error' }])
    for (const statement of findings.flatMap(({ fix }) => fix)) await admin.query(statement)
    expect(await provider.checkTable()).toEqual([])
  })

  itIf(backend.dialect === 'postgres', 'PostgreSQL')('is told how to get into a schema', async () => {
    await admin.query('create schema jobs')
    await admin.query('alter table locks set schema jobs')
    const provider = typeOrmLockProvider(dataSource, { schema: 'jobs', tableName: 'locks' })

    const findings = await provider.checkTable()
    expect(findings).toMatchObject([{ code: 'PRIVILEGE_MISSING' }])
    for (const statement of findings.flatMap(({ fix }) => fix)) await admin.query(statement)
    expect(await provider.checkTable()).toEqual([])
  })
})
