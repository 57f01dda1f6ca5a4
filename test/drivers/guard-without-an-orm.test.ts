import { Pool, type PoolClient } from 'pg'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { dialects } from '../../src/sql/dialects'
import { guard } from '../../src/sql/guard'
import type { SqlClient } from '../../src/sql/session'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockRow } from '../sql/lock-row'

const JOB = { name: 'close-day', lockAtMostFor: '10m' }

/** As docs/guides/other-sql-clients.md has it. */
function on(client: Pool | PoolClient): SqlClient {
  return sqlClient(drivers.postgres, async (text, values) => {
    const { rows, rowCount } = await client.query(text, values)
    return { rows: rows as [], changed: rowCount }
  })
}

describeBackends(availableBackends().filter(({ name }) => name === 'postgres'))('pg on $name', (backend) => {
  it.each(['commits while the lock is held', 'is rolled back when the lock is no longer held'])(
    'a guarded transaction %s',
    async (title) => {
      const { database, dataSource } = await openDatabase(backend, migrated())
      await dataSource.query('create table accounts (closed boolean)')
      const pool = new Pool({ connectionString: database.url })
      // `end` does not wait until its connections are closed, so the removal of the database may terminate one of them.
      pool.on('error', () => undefined)
      afterTest(() => pool.end())
      const provider = new SqlLockProvider(on(pool), dialects.postgres)
      const closing = new LockingTaskExecutor(provider).executeWithLock(JOB, async () => {
        const client = await pool.connect()
        try {
          await client.query('begin')
          await client.query('insert into accounts values (true)')
          if (!title.startsWith('commits')) await provider.table.release(await lockRow(provider, JOB.name))
          await guard(on(client))
          await client.query('commit')
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      })
      if (title.startsWith('commits')) await closing
      else await expect(closing).rejects.toMatchObject({ code: 'LOCK_LOST' })
      const closed = await dataSource.query<unknown[]>('select * from accounts')
      expect(closed).toHaveLength(title.startsWith('commits') ? 1 : 0)
    },
  )
})
