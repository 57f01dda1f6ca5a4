import { Pool, type PoolClient } from 'pg'
import { beforeEach, expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/internal'
import { drivers, sqlClient } from '../../src/drivers/internal'
import { dialects, guard, SqlLockProvider, type SqlClient } from '../../src/sql/internal'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'
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
  let pool: Pool
  let provider: SqlLockProvider

  beforeEach(async () => {
    const { database } = await openDatabase(backend)
    pool = new Pool({ connectionString: database.url })
    // `end` does not wait until its connections are closed, so the removal of the database may terminate one of them.
    pool.on('error', () => undefined)
    afterTest(() => pool.end())
    provider = new SqlLockProvider(on(pool), dialects.postgres)
    await provider.table.create()
    await pool.query('create table accounts (closed boolean)')
  })

  /** @param before what happens between the work and its guard */
  async function closeDay(before: () => Promise<unknown>): Promise<void> {
    await new LockingTaskExecutor(provider).executeWithLock(JOB, async () => {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await client.query('insert into accounts values (true)')
        await before()
        await guard(on(client))
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    })
  }
  const closed = async (): Promise<number | null> => (await pool.query('select * from accounts')).rowCount

  it('lets a transaction commit while the lock is held', async () => {
    await closeDay(() => Promise.resolve())
    expect(await closed()).toBe(1)
  })

  it('prevents the commit when the lock is no longer held', async () => {
    const release = async (): Promise<void> => {
      const held = await lockRow(provider, JOB.name)
      expect(await provider.table.release(held)).toBe(true)
    }
    await expect(closeDay(release)).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(await closed()).toBe(0)
  })
})
