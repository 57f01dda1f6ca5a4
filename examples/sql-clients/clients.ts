import { drizzle } from 'drizzle-orm/node-postgres'
import knex, { type Knex } from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import type { Connection } from 'mysql2'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import type { SqlLockProvider, SqlLockProviderOptions } from 'shedlock-orm/sql'
import { drizzleLockProvider } from './drizzle'
import { knexMysqlLockProvider, knexPgLockProvider } from './knex'
import { kyselyLockProvider } from './kysely'
import { mysql2LockProvider } from './mysql2'
import { pgLockProvider } from './pg'
import { postgresLockProvider } from './postgres'

/** A transaction of the app, begun by the client itself. */
export interface Transaction {
  readonly query: (sql: string) => Promise<unknown>
  readonly end: (how: 'commit' | 'rollback') => Promise<unknown>
}

/** One app with its pool. */
export interface OpenClient {
  createProvider(options?: SqlLockProviderOptions): SqlLockProvider
  begin(): Promise<Transaction>
  close(): Promise<unknown>
}

const POOL = 3
/** Under this mode a value that was written into the text, with quotes escaped by backslashes, would be SQL. */
const NO_BACKSLASHES = `set sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES')`

function onPg(pool: Pool, createProvider: OpenClient['createProvider']): OpenClient {
  // pg reports a lost connection as an event too, and crashes without a listener.
  pool.on('connect', (connection) => {
    connection.on('error', () => undefined)
  })
  return {
    createProvider,
    begin: async () => {
      const connection = await pool.connect()
      await connection.query('begin isolation level serializable')
      return {
        query: (sql) => connection.query(sql),
        end: (how) =>
          connection.query(how).finally(() => {
            connection.release()
          }),
      }
    },
    close: () => pool.end(),
  }
}

function onKnex(db: Knex, createProvider: OpenClient['createProvider']): OpenClient {
  return {
    createProvider,
    begin: async () => {
      const transaction = await db.transaction({ isolationLevel: 'serializable' })
      return { query: (sql) => transaction.raw(sql), end: (how) => transaction[how]() }
    },
    close: () => db.destroy(),
  }
}

export const ON_POSTGRES: Readonly<Record<string, (url: string) => OpenClient>> = {
  pg: (connectionString) => {
    const pool = new Pool({ connectionString, max: POOL })
    return onPg(pool, (options) => pgLockProvider(pool, options))
  },
  'Postgres.js': (url) => {
    const sql = postgres(url, { max: POOL, onnotice: () => undefined })
    return {
      createProvider: (options) => postgresLockProvider(sql, options),
      begin: async () => {
        const connection = await sql.reserve()
        await connection.unsafe('begin isolation level serializable')
        return {
          query: (text) => connection.unsafe(text),
          end: (how) =>
            connection.unsafe(how).finally(() => {
              connection.release()
            }),
        }
      },
      close: () => sql.end(),
    }
  },
  Kysely: (connectionString) => {
    const pool = new Pool({ connectionString, max: POOL })
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    return {
      createProvider: (options) => kyselyLockProvider(db, options),
      begin: async () => {
        const transaction = await db.startTransaction().setIsolationLevel('serializable').execute()
        return {
          query: (sql) => transaction.executeQuery(CompiledQuery.raw(sql)),
          end: (how) => transaction[how]().execute(),
        }
      },
      close: () => db.destroy(),
    }
  },
  Drizzle: (connectionString) => {
    const pool = new Pool({ connectionString, max: POOL })
    const db = drizzle({ client: pool })
    return onPg(pool, (options) => drizzleLockProvider(db, options))
  },
  Knex: (connection) => {
    const db = knex({ client: 'pg', connection, pool: { min: 0, max: POOL } })
    return onKnex(db, (options) => knexPgLockProvider(db, options))
  },
}

function afterCreate(connection: Connection, done: (error: Error | null) => void): void {
  connection.query(NO_BACKSLASHES, done)
}

export const ON_MYSQL: Readonly<Record<string, (url: string) => OpenClient>> = {
  mysql2: (uri) => {
    const pool = createPool({ uri, connectionLimit: POOL })
    pool.on('connection', (connection) => void connection.query(NO_BACKSLASHES))
    return {
      createProvider: (options) => mysql2LockProvider(pool, options),
      begin: async () => {
        const connection = await pool.getConnection()
        await connection.query('set transaction isolation level serializable')
        await connection.beginTransaction()
        return {
          query: (sql) => connection.query(sql),
          end: (how) =>
            connection[how]().finally(() => {
              connection.release()
            }),
        }
      },
      close: () => pool.end(),
    }
  },
  Knex: (connection) => {
    const db = knex({ client: 'mysql2', connection, pool: { min: 0, max: POOL, afterCreate } })
    return onKnex(db, (options) => knexMysqlLockProvider(db, options))
  },
}
