import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { dialects, type Dialect } from '../src/sql/internal'
import type { DataSourceOptions } from 'typeorm'
import {
  mysqlLikeCounters,
  postgresCounters,
  sqliteCounters,
  type RunRaw,
  type ServerCounters,
} from './server-counters'

export interface RawClient {
  readonly run: RunRaw
  /** Runs a prepared statement, if the driver has a separate method for that. */
  readonly runPrepared?: RunRaw
  readonly close: () => Promise<unknown>
}

/** What differs between the measured databases. */
export interface BenchDatabase {
  readonly dialect: Dialect
  readonly defaultUrl: string | undefined
  /** The query for the server's version. */
  readonly version: string
  readonly placeholder: (position: number) => string
  /** Opens a client, by default with a single connection. */
  readonly raw: (url: string, connections?: number) => RawClient
  readonly typeOrm: (url: string, connections: number) => DataSourceOptions
  /** More options, with which its pool soon closes what is idle. Absent: the server takes two connections for each contender. */
  readonly closesIdle?: { readonly extra: object }
  /** Sends a prepared statement on a connection of TypeORM's. Undefined if TypeORM's own `query` is used instead. */
  readonly prepared?: (connection: unknown, text: string, values: unknown[]) => Promise<unknown>
  readonly counters: (control: RunRaw, url: string) => ServerCounters
  /** The statements that begin a transaction and lock the row or the file. */
  lockRow(table: string, name: string): string[]
}

const { postgres, mariadb, sqlite } = dialects

const names = new Map<string, string>()

export function nameOf(text: string): string {
  const name = names.get(text) ?? `bench_${String(names.size)}`
  names.set(text, name)
  return name
}

/** What MariaDB and MySQL have in common. Their lock statements are the same. */
const mysqlLike = {
  defaultUrl: 'mysql://root@127.0.0.1:3306/test',
  version: 'select version()',
  placeholder: () => '?',
  raw: (uri, connectionLimit = 1) => {
    const pool = mysql.createPool({ uri, connectionLimit })
    return {
      run: (text, values) => pool.query(text, values),
      runPrepared: (text, values) => pool.execute(text, values),
      close: () => pool.end(),
    }
  },
  prepared: (connection, text, values) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, rows: unknown): void => {
        if (error) reject(error)
        else resolve(rows)
      }
      ;(connection as { execute(text: string, values: unknown[], done: unknown): void }).execute(
        text,
        values,
        done,
      )
    }),
  lockRow: (table, name) => ['begin', `select 1 from ${table} where name = '${name}' for update`],
} satisfies Partial<BenchDatabase>

const benchDatabases: Readonly<Record<string, BenchDatabase>> = {
  postgres: {
    dialect: postgres,
    defaultUrl: 'postgres://postgres@127.0.0.1:5432/test',
    version: 'show server_version',
    placeholder: (position) => `$${String(position + 1)}`,
    raw: (url, max = 1) => {
      const pool = new pg.Pool({ connectionString: url, max })
      return {
        run: (text, values) => pool.query(text, values),
        runPrepared: (text, values) => pool.query({ name: nameOf(text), text, values: values ?? [] }),
        close: () => pool.end(),
      }
    },
    typeOrm: (url, poolSize) => ({ type: 'postgres', url, poolSize }),
    closesIdle: { extra: { idleTimeoutMillis: 100 } },
    prepared: (client, text, values) =>
      (client as pg.ClientBase).query({ name: nameOf(text), text, values: [...values] }),
    counters: postgresCounters,
    lockRow: (table, name) => ['begin', `select 1 from ${table} where name = '${name}' for update`],
  },
  mariadb: {
    ...mysqlLike,
    dialect: mariadb,
    typeOrm: (url, poolSize) => ({ type: 'mariadb', url, poolSize }),
    counters: (control) => mysqlLikeCounters(control, 'information_schema'),
  },
  mysql: {
    ...mysqlLike,
    dialect: dialects.mysql,
    typeOrm: (url, poolSize) => ({ type: 'mysql', url, poolSize }),
    counters: (control) => mysqlLikeCounters(control, 'performance_schema'),
  },
  sqlite: {
    dialect: sqlite,
    defaultUrl: undefined,
    version: 'select sqlite_version()',
    placeholder: () => '?',
    raw: (file) => {
      const database = new Database(file)
      database.pragma('journal_mode = WAL')
      // With the same settings as TypeORM's.
      database.pragma('foreign_keys = ON')
      const prepared = new Map<string, Database.Statement>()
      const run: RunRaw = (text, values = []) => {
        const statement = prepared.get(text) ?? database.prepare(text)
        prepared.set(text, statement)
        return Promise.resolve(statement.reader ? statement.all(...values) : statement.run(...values))
      }
      return { run, close: () => Promise.resolve(database.close()) }
    },
    typeOrm: (database) => ({ type: 'better-sqlite3', database, enableWAL: true }),
    counters: (control, file) => sqliteCounters(file, control),
    lockRow: () => ['begin immediate'],
  },
}

export function benchDatabase(name: string): BenchDatabase {
  const database = benchDatabases[name]
  if (database) return database
  throw new Error(`There is no database '${name}' – known are ${Object.keys(benchDatabases).join(', ')}.`)
}

/** Returns the URL of the server, or the path of a new file. */
export function location(name: string): { url: string; remove: () => void } {
  const url = process.env[`${name.toUpperCase()}_URL`] ?? benchDatabase(name).defaultUrl
  if (url) return { url, remove: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-bench-'))
  return {
    url: join(folder, 'bench.sqlite'),
    remove: () => {
      rmSync(folder, { recursive: true })
    },
  }
}
