import { spawnSync } from 'node:child_process'
import { expect, it } from '@jest/globals'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { prismaBackends } from '../prisma/clients'
import { root } from '../project'

const SERVERS = ['postgres', 'mariadb', 'mysql']
const job = { name: 'job', lockAtMostFor: '1h' }

/** Ends all other connections to the database, in another process. */
const END_OTHERS = `
  const [url] = process.argv.slice(1)
  const end = async () => {
    if (url.startsWith('postgres')) {
      const client = new (require('pg').Client)(url)
      await client.connect()
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()')
      return client.end()
    }
    const connection = await require('mysql2/promise').createConnection(url)
    const [others] = await connection.query('select id from information_schema.processlist where db = database() and id <> connection_id()')
    for (const { id } of others) await connection.query('kill ' + id)
    await connection.end()
  }
  end()`

/** Locks in a timer that is due when this process goes on, after the server has ended its idle connections. */
async function lockAfterThaw(provider: SqlLockProvider, url: string) {
  const locked = new Promise((resolve) => {
    setTimeout(() => {
      resolve(provider.lock(job).catch((error: unknown) => error))
    }, 1)
  })
  const { stderr } = spawnSync(process.execPath, ['-e', END_OTHERS, url], { cwd: root, encoding: 'utf8' })
  expect(stderr).toBe('')
  return locked
}

describeBackends(availableBackends().filter(({ name }) => SERVERS.includes(name)))(
  'a process that was frozen, on $name',
  (backend) => {
    it('acquires its first lock through TypeORM, although the server has ended its idle connections', async () => {
      const { database, dataSource } = await openDatabase(backend, { ...migrated(), poolSize: 3 })
      const provider = typeOrmLockProvider(dataSource)
      const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
      for (const lock of await Promise.all(warm)) await lock?.unlock()
      expect(await lockAfterThaw(provider, database.url)).toMatchObject({ name: 'job' })
    })
  },
)

describeBackends(prismaBackends().filter(({ name }) => SERVERS.includes(name)))(
  'a process that was frozen, on $name',
  (backend) => {
    it('acquires its first lock through Prisma, although the server has ended its idle connections', async () => {
      const { database } = await openDatabase(backend, migrated())
      const provider = prismaLockProvider(await database.connect())
      const warm = ['one', 'two', 'three'].map((name) => provider.lock({ ...job, name }))
      for (const lock of await Promise.all(warm)) await lock?.unlock()
      expect(await lockAfterThaw(provider, database.url)).toMatchObject({ name: 'job' })
      await provider.drain()
    })
  },
)
