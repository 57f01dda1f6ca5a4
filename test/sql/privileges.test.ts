import { randomBytes } from 'node:crypto'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { DialectName, LockTableOptions } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { eventually } from '../eventually'
import { itIf } from '../it-if'
import { lockError } from '../lock-error'

/** How a user is made who may log in, and is taken away with what was granted. */
interface Users {
  quoted(user: string): string
  make(user: string, password: string): readonly string[]
  drop(user: string): readonly string[]
}
const MYSQL: Users = {
  quoted: (user) => `'${user}'@'%'`,
  make: (user, password) => [`create user ${user} identified by '${password}'`],
  drop: (user) => [`drop user ${user}`],
}
/** Not Oracle: there a test is a user itself, who cannot make others. */
const USERS: Readonly<Partial<Record<DialectName, Users>>> = {
  postgres: {
    quoted: (user) => `"${user}"`,
    make: (user, password) => [`create role ${user} login password '${password}'`],
    drop: (user) => [`drop owned by ${user}`, `drop role ${user}`],
  },
  mysql: MYSQL,
  mariadb: MYSQL,
  mssql: {
    quoted: (user) => `[${user}]`,
    make: (user, password) => [
      `create login ${user} with password = '${password}', check_policy = off`,
      `create user ${user} for login ${user}`,
    ],
    drop: (user) => [`drop user ${user}`, `drop login ${user}`],
  },
}
const backends = availableBackends().filter(({ dialect }) => dialect in USERS)

describeBackends(backends)('a user with few privileges on $name', (backend) => {
  const user = `shedlock_user_${randomBytes(4).toString('hex')}`
  const password = 'secret'
  const users = USERS[backend.dialect] ?? MYSQL
  const grantee = users.quoted(user)
  let admin: DataSource
  let dataSource: DataSource

  beforeEach(async () => {
    const opened = await openDatabase(backend, migrated({ tableName: 'locks' }))
    admin = opened.dataSource
    // A login cannot be dropped until its last session is gone, which SQL Server ends after the connection: error 15434.
    afterTest(async () => {
      for (const statement of users.drop(grantee)) await eventually(() => admin.query(statement))
    })
    for (const statement of users.make(grantee, password)) await admin.query(statement)
    await admin.query(`grant select, insert, update on locks to ${grantee}`)
    dataSource = await opened.connect({ username: user, password })
  })

  it('locks with select, insert and update on one table', async () => {
    const provider = typeOrmLockProvider(dataSource, { tableName: 'locks' })
    expect(await provider.table.check()).toEqual([])

    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeUndefined()
    await lock?.extend('2m')
    await lock?.unlock()
    expect(await provider.lock({ name: 'job', lockAtMostFor: '1m' })).toBeDefined()
    expect(await provider.table.list()).toHaveLength(1)
  })

  /** Sees that a privilege is missing, and that what check() says gives it. */
  const expectFixable = async (options: LockTableOptions): Promise<void> => {
    const provider = typeOrmLockProvider(dataSource, options)
    const findings = await provider.table.check()
    expect(findings).toMatchObject([{ code: 'PRIVILEGE_MISSING', severity: 'error' }])
    for (const statement of findings.flatMap(({ fix }) => fix)) await admin.query(statement)
    expect(await provider.table.check()).toEqual([])
  }

  it.each(['insert', 'update'])('learns how to get a missing privilege to %s', async (privilege) => {
    await admin.query(`revoke ${privilege} on locks from ${grantee}`)
    const locking = typeOrmLockProvider(dataSource, { tableName: 'locks' }).lock({
      name: 'job',
      lockAtMostFor: '1m',
    })
    await expect(locking).rejects.toEqual(
      lockError('DATABASE_ERROR', / – grant this user select, insert and update on the lock table/),
    )
    await expectFixable({ tableName: 'locks' })
  })

  itIf(backend.dialect === 'postgres', 'PostgreSQL')('learns how to get into a schema', async () => {
    await admin.query('create schema jobs')
    await admin.query('alter table locks set schema jobs')
    await expectFixable({ schema: 'jobs', tableName: 'locks' })
  })
})
