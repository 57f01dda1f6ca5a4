import { randomBytes } from 'node:crypto'
import type { DataSource } from 'typeorm'
import { beforeEach, expect, it } from '@jest/globals'
import type { DialectName, LockTableOptions } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { eventually } from '../eventually'
import { itOn } from '../it-if'
import { lockError } from '../lock-error'

/** How a user is made who may log in with a password, and is taken away with what was granted. */
interface Users {
  readonly quoted: (user: string) => string
  readonly make: readonly string[]
  readonly drop: readonly string[]
}
const MYSQL: Users = {
  quoted: (user) => `'${user}'@'%'`,
  make: ["create user $ identified by 'secret'"],
  drop: ['drop user $'],
}
/** Not Oracle: there a test is a user itself, who cannot make others. */
const USERS: Readonly<Partial<Record<DialectName, Users>>> = {
  postgres: {
    quoted: (user) => `"${user}"`,
    make: ["create role $ login password 'secret'"],
    drop: ['drop owned by $', 'drop role $'],
  },
  mysql: MYSQL,
  mariadb: MYSQL,
  mssql: {
    quoted: (user) => `[${user}]`,
    make: ["create login $ with password = 'secret', check_policy = off", 'create user $ for login $'],
    drop: ['drop user $', 'drop login $'],
  },
}
const backends = availableBackends().filter(({ dialect }) => dialect in USERS)

describeBackends(backends)('a user with few privileges on $name', (backend) => {
  const user = `shedlock_user_${randomBytes(4).toString('hex')}`
  const { quoted, make, drop } = USERS[backend.dialect] ?? MYSQL
  const grantee = quoted(user)
  let admin: DataSource
  let dataSource: DataSource

  const administer = (statement: string) => admin.query(statement.replaceAll('$', grantee))

  beforeEach(async () => {
    const opened = await openDatabase(backend, migrated({ tableName: 'locks' }))
    admin = opened.dataSource
    // A login cannot be dropped until its last session is gone, which SQL Server ends after the connection: error 15434.
    afterTest(async () => {
      for (const statement of drop) await eventually(() => administer(statement))
    })
    for (const statement of make) await administer(statement)
    await administer('grant select, insert, update on locks to $')
    dataSource = await opened.connect({ username: user, password: 'secret' })
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

  it('learns which privilege it needs to create the table', async () => {
    const { table } = typeOrmLockProvider(dataSource, { tableName: 'not_there' })
    const created = table.create()
    await expect(created).rejects.toEqual(
      lockError('DATABASE_ERROR', / with error \w+: .* – grant this user the right to create tables/),
    )
    await expect(created).rejects.not.toThrow('migration')
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
    await administer(`revoke ${privilege} on locks from $`)
    const locking = typeOrmLockProvider(dataSource, { tableName: 'locks' }).lock({
      name: 'job',
      lockAtMostFor: '1m',
    })
    await expect(locking).rejects.toEqual(
      lockError('DATABASE_ERROR', / – grant this user select, insert and update on the lock table/),
    )
    await expectFixable({ tableName: 'locks' })
  })

  itOn(backend, 'postgres')('learns how to get into a schema', async () => {
    await admin.query('create schema jobs')
    await admin.query('alter table locks set schema jobs')
    await expectFixable({ schema: 'jobs', tableName: 'locks' })
  })

  itOn(backend, 'postgres')('learns of row-level security', async () => {
    await administer('alter table locks enable row level security')
    const { table } = typeOrmLockProvider(dataSource, { tableName: 'locks' })
    const message = expect.stringContaining('has row-level security (locks)')
    expect(await table.check()).toMatchObject([{ code: 'OBSTACLE', message }])
  })
})
