import type { Knex } from 'knex'
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2'
import type { PoolClient } from 'pg'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { dialects, SqlLockProvider, type SqlLockProviderOptions } from 'shedlock-orm/sql'

/** On PostgreSQL, by a connection of Knex's pool: `knex.raw` would take each `?` in a name for a placeholder. */
export function knexPgLockProvider(knex: Knex, options?: SqlLockProviderOptions): SqlLockProvider {
  const client = sqlClient(drivers.postgres, (text, values) =>
    onConnection(knex, async (connection: PoolClient) => {
      const { rows, rowCount } = await connection.query(text, values)
      return { rows, changed: rowCount }
    }),
  )
  return new SqlLockProvider(client, dialects.postgres, options)
}

/** On MySQL and MariaDB, where `knex.raw` would write values into the text. */
export function knexMysqlLockProvider(knex: Knex, options?: SqlLockProviderOptions): SqlLockProvider {
  const client = sqlClient(drivers.mysql, (text, values) =>
    onConnection(knex, async (connection: Connection) => {
      const [result] = await connection.promise().execute<RowDataPacket[] | ResultSetHeader>(text, values)
      return Array.isArray(result) ? { rows: result, changed: 0 } : { rows: [], changed: result.affectedRows }
    }),
  )
  return new SqlLockProvider(client, dialects.mysql, options)
}

/** @param work gets a connection of Knex's client, whichever that is */
async function onConnection<T>(knex: Knex, work: (connection: never) => Promise<T>): Promise<T> {
  const pool = knex.client as Knex.Client
  const connection = (await pool.acquireConnection()) as never
  try {
    return await work(connection)
  } finally {
    await pool.releaseConnection(connection)
  }
}
