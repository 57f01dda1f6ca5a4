import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import { DataSource } from 'typeorm'
import { expect, it } from '@jest/globals'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { drivers } from '../../src/drivers/drivers'
import { sqlClient } from '../../src/drivers/sql-client'
import { guard } from '../../src/sql/guard'
import type { SqlClient } from '../../src/sql/session'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { availableBackends, describeBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { lockError } from '../lock-error'
import { lockRow } from '../sql/lock-row'
import { withRows } from '../statement-sender'

const JOB = { name: 'close-day', lockAtMostFor: '10m' }

/** A connection of the app, and how its driver runs a statement for the guard. */
interface Connection {
  readonly sqlClient: SqlClient
  readonly query: (statement: string) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

/** A database of better-sqlite3, which has no types here. */
interface SqliteFile {
  prepare(text: string): {
    readonly reader: boolean
    all(...values: unknown[]): unknown[]
    run(...values: unknown[]): { readonly changes: number }
  }
  exec(text: string): unknown
}

/** Connections of every driver that needs no ORM. */
const CONNECTIONS: Readonly<Record<string, (url: string) => Promise<Connection>>> = {
  'pg on postgres': async (url) => {
    const client = new Client(url)
    await client.connect()
    return {
      // As docs/guides/other-sql-clients.md has it.
      sqlClient: sqlClient(drivers.postgres, async (text, values) => {
        const { rows, rowCount } = await client.query(text, values)
        return { rows: rows as [], changed: rowCount }
      }),
      query: (statement) => client.query(statement),
      close: () => client.end(),
    }
  },
  'mysql2, unprepared, on mariadb': (url) => mysql2(url, 'query'),
  'mysql2, prepared, on mariadb': (url) => mysql2(url, 'execute'),
  'mysql2, prepared, on mysql': (url) => mysql2(url, 'execute'),
  'better-sqlite3 on sqlite': async (database) => {
    const dataSource = await new DataSource({ type: 'better-sqlite3', database }).initialize()
    const { databaseConnection: file } = dataSource.driver as unknown as { databaseConnection: SqliteFile }
    return {
      sqlClient: sqlClient(drivers.sqlite, (text, values) => {
        const statement = file.prepare(text)
        if (statement.reader) return Promise.resolve({ rows: statement.all(...values) as [] })
        return Promise.resolve({ rows: [], changed: statement.run(...values).changes })
      }),
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
  it('is refused outside of a transaction, and in one changes nothing but whether it may commit', async () => {
    const { database, dataSource } = await openDatabase(backend, migrated())
    await dataSource.query('create table accounts (closed integer)')
    const { sqlClient, query, close } = await connect(
      backend.dialect === 'sqlite' ? String(dataSource.options.database) : database.url,
    )
    afterTest(close)
    const provider = typeOrmLockProvider(dataSource)
    const outside = lockError('INVALID_CLIENT', 'guard needs an open transaction')
    const guarded = async (end: 'commit' | 'rollback') => {
      await query('begin')
      await query('insert into accounts values (1)')
      try {
        await guard(sqlClient)
        await guard(withRows(sqlClient, (row) => ('is_open' in row ? { ...row, is_open: -1 } : row)))
      } finally {
        await query(end)
      }
      return dataSource.query<unknown[]>('select * from accounts')
    }
    await new LockingTaskExecutor(provider).executeWithLock(JOB, async () => {
      await expect(guard(sqlClient)).rejects.toEqual(outside)
      expect(await guarded('rollback')).toEqual([])
      expect(await guarded('commit')).toHaveLength(1)
      await expect(guard(sqlClient)).rejects.toEqual(outside)
      await provider.table.release(await lockRow(provider, JOB.name))
      await expect(guarded('rollback')).rejects.toEqual(lockError('LOCK_LOST'))
    })
  })
})
