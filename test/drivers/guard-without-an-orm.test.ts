import { createConnection } from 'mysql2/promise'
import { Client, Pool, type PoolClient } from 'pg'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { dialects } from '../../src/sql/dialects'
import { guard } from '../../src/sql/guard'
import type { SqlClient } from '../../src/sql/session'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'
import { onSqlite, type SqliteFile } from './on-sqlite'
import { lockRow } from '../sql/lock-row'

const JOB = { name: 'close-day', lockAtMostFor: '10m' }

/** As docs/guides/other-sql-clients.md has it. */
function on(client: Pool | PoolClient | Client): SqlClient {
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

/** A connection of the app, and how its driver runs a statement for the guard. */
interface Connection {
  readonly sqlClient: SqlClient
  query(statement: string): Promise<unknown>
  close(): Promise<unknown>
}

/** Connections of every driver that needs no ORM. */
const CONNECTIONS: Readonly<Record<string, (url: string) => Promise<Connection>>> = {
  'pg on postgres': async (url) => {
    const client = new Client(url)
    await client.connect()
    return {
      sqlClient: on(client),
      query: (statement) => client.query(statement),
      close: () => client.end(),
    }
  },
  'mysql2, unprepared, on mariadb': async (url) => mysql2(url, 'query'),
  'mysql2, prepared, on mariadb': async (url) => mysql2(url, 'execute'),
  'mysql2, unprepared, on mysql': async (url) => mysql2(url, 'query'),
  'mysql2, prepared, on mysql': async (url) => mysql2(url, 'execute'),
  'better-sqlite3 on sqlite': async (database) => {
    const dataSource = await new DataSource({ type: 'better-sqlite3', database }).initialize()
    const { databaseConnection: file } = dataSource.driver as unknown as { databaseConnection: SqliteFile }
    return {
      sqlClient: onSqlite(file),
      query: (statement) => Promise.resolve(file.exec(statement)),
      close: () => dataSource.destroy(),
    }
  },
}

async function mysql2(url: string, method: 'query' | 'execute'): Promise<Connection> {
  const connection = await createConnection(url)
  return {
    sqlClient: sqlClient(drivers.mysql, async (text, values) => {
      const [result] =
        method === 'query' ? await connection.query(text, values) : await connection.execute(text, values)
      return 'affectedRows' in result ? { rows: [], changed: result.affectedRows } : { rows: result as [] }
    }),
    query: (statement) => connection.query(statement),
    close: () => connection.end(),
  }
}

const cases = Object.entries(CONNECTIONS).flatMap(([title, connect]) => {
  const backend = availableBackends().find(({ name }) => title.endsWith(` on ${name}`))
  return backend ? [{ title, backend, connect }] : []
})

describeBackends(cases)('a guard by $title', ({ backend, connect }) => {
  it('is refused outside of a transaction, and changes nothing in one', async () => {
    const { database, dataSource } = await openDatabase(backend, migrated())
    const provider = typeOrmLockProvider(dataSource)
    const lock = await provider.lock(JOB)
    await dataSource.query('create table accounts (closed integer)')
    const connection = await connect(
      backend.dialect === 'sqlite' ? String(dataSource.options.database) : database.url,
    )
    afterTest(() => connection.close())
    const outside = lockError('INVALID_CLIENT', 'guard needs an open transaction')
    await expect(guard(connection.sqlClient, lock)).rejects.toEqual(outside)
    await connection.query('begin')
    await connection.query('insert into accounts values (1)')
    await guard(connection.sqlClient, lock)
    await connection.query('rollback')
    expect(await dataSource.query('select * from accounts')).toEqual([])
    await connection.query('begin')
    await connection.query('insert into accounts values (1)')
    await guard(connection.sqlClient, lock)
    await connection.query('commit')
    expect(await dataSource.query('select * from accounts')).toHaveLength(1)
    await expect(guard(connection.sqlClient, lock)).rejects.toEqual(outside)
    await lock?.unlock()
  })
})
