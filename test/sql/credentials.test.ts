import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor, type LockProvider } from '../../src/core/internal'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { prismaBackends } from '../prisma/clients'

const SECRET = 'hunter2-s3cret'
const servers = availableBackends().filter(({ dialect }) =>
  ['postgres', 'mysql', 'mariadb'].includes(dialect),
)

/** Everything that an app could log of what it gets from the library: errors with their causes, and what listeners hear. */
async function logged(provider: LockProvider): Promise<string> {
  const heard: unknown[] = []
  const hear = (event: unknown): void => void heard.push(event)
  const executor = new LockingTaskExecutor(provider, {
    listeners: [{ onLockFailed: hear, onUnlockFailed: hear, onLockAttempt: hear }],
  })
  const run = executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () => 'ran')
  const error = await run.then(
    () => new Error('It should have failed.'),
    (reason: unknown) => reason as Error,
  )
  expect(error).toMatchObject({ name: 'LockError' })
  const all = [error, ...heard]
  return all.map((each) => inspect(each, { depth: Infinity, showHidden: true }) + JSON.stringify(each)).join()
}

describeBackends(servers)('A URL with a password for $name', (backend) => {
  it('is in no error, cause or event when the server refuses the user', async () => {
    const { database, dataSource: admin } = await openDatabase(backend, migrated())
    const name = `shedlock_${randomBytes(4).toString('hex')}`
    const [user, make, refuse, drop] =
      backend.dialect === 'postgres'
        ? [`"${name}"`, 'create role $ login', 'alter role $ nologin', ['drop owned by $', 'drop role $']]
        : [
            `'${name}'@'%'`,
            `create user $ identified by '${SECRET}'`,
            'alter user $ account lock',
            ['drop user $'],
          ]
    const administer = (statement: string) => admin.query(statement.replace('$', user))
    await administer(make)
    afterTest(async () => {
      for (const statement of drop) await administer(statement)
    })
    await administer('grant select, insert, update on shedlock to $')
    const { href: url } = Object.assign(new URL(database.url), { username: name, password: SECRET })
    const options = { type: backend.dialect, url, poolSize: 2 } as DataSourceOptions
    const dataSource = await new DataSource(options).initialize()
    // If a connection is refused meanwhile, the end of mysql2's pool fails.
    afterTest(() => dataSource.destroy().catch(() => undefined))
    const busy = dataSource.createQueryRunner()
    await busy.connect()
    afterTest(() => busy.release())
    // From now on no new connection is let in, and the first one is in use.
    await administer(refuse)
    expect(await logged(typeOrmLockProvider(dataSource, { timeLimit: '1s' }))).not.toContain(SECRET)
  })
})

const prismas = prismaBackends().filter(({ dialect }) => servers.some((server) => server.dialect === dialect))

describeBackends(prismas)('A URL with a password for Prisma on $name', (backend) => {
  it('is in no error, cause or event when the user is refused or no server answers', async () => {
    const database = await backend.create()
    afterTest(() => database.drop())
    const onMySql = { user: 'nobody-here', password: SECRET, acquireTimeout: 500 }
    const clients =
      backend.dialect === 'postgres'
        ? [
            { connectionString: database.url.replace(/\/\/[^@]*@/, `//nobody-here:${SECRET}@`) },
            { connectionString: `postgres://app:${SECRET}@127.0.0.1:1/app` },
          ]
        : [onMySql, { ...onMySql, port: 1 }]
    for (const options of clients) {
      const client = await database.connect(options)
      expect(await logged(prismaLockProvider(client, { timeLimit: '1s' }))).not.toContain(SECRET)
    }
  })
})
