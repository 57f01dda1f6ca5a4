import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { DataSource, type DataSourceOptions } from 'typeorm'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor, type LockProvider } from '../../src/core/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { prismaLockProvider } from '../../src/prisma/internal'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase, openMemory } from '../backends/open-database'
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
    const user = `shedlock_${randomBytes(4).toString('hex')}`
    const postgres = backend.dialect === 'postgres'
    try {
      await admin.query(
        postgres ? `create role "${user}" login` : `create user '${user}'@'%' identified by '${SECRET}'`,
      )
      await admin.query(
        postgres
          ? `grant select, insert, update on shedlock to "${user}"`
          : `grant select, insert, update on shedlock to '${user}'@'%'`,
      )
      const url = new URL(database.url)
      url.username = user
      url.password = SECRET
      const dataSource = await new DataSource({
        type: backend.dialect,
        url: url.href,
        poolSize: 2,
      } as DataSourceOptions).initialize()
      // From now on no new connection is let in, and the first one is in use.
      await admin.query(postgres ? `alter role "${user}" nologin` : `drop user '${user}'@'%'`)
      const busy = dataSource.createQueryRunner()
      await busy.connect()
      expect(await logged(typeOrmLockProvider(dataSource, { timeLimit: '2s' }))).not.toContain(SECRET)
      await busy.release()
      await dataSource.destroy()
    } finally {
      if (postgres) {
        await admin.query(`drop owned by "${user}"`)
        await admin.query(`drop role "${user}"`)
      }
    }
  })
})

describeBackends(
  prismaBackends().filter(({ dialect }) => servers.some((server) => server.dialect === dialect)),
)('A URL with a password for Prisma on $name', (backend) => {
  it('is in no error, cause or event when the user is refused or no server answers', async () => {
    const database = await backend.create()
    try {
      const wrong = { user: 'nobody-here', password: SECRET }
      const refused = await database.connect(
        backend.dialect === 'postgres'
          ? { connectionString: database.url.replace(/\/\/[^@]*@/, `//nobody-here:${SECRET}@`) }
          : { ...wrong, acquireTimeout: 1_000 },
      )
      expect(await logged(prismaLockProvider(refused, { timeLimit: '2s' }))).not.toContain(SECRET)
      const unreachable = await database.connect(
        backend.dialect === 'postgres'
          ? { connectionString: `postgres://app:${SECRET}@127.0.0.1:1/app` }
          : { ...wrong, port: 1, acquireTimeout: 1_000 },
      )
      expect(await logged(prismaLockProvider(unreachable, { timeLimit: '2s' }))).not.toContain(SECRET)
    } finally {
      await database.drop()
    }
  })
})

it('An owner contains the host and the process, and nothing else', async () => {
  const dataSource = await openMemory(migrated())
  await typeOrmLockProvider(dataSource).lock({ name: 'job', lockAtMostFor: '1m' })
  const [row] = await dataSource.query<{ locked_by: string }[]>('select locked_by from shedlock')
  expect(row?.locked_by).toMatch(/^[^/]+\/\d+(\/\d+)?\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})
