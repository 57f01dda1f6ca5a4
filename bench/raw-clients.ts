import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import pg from 'pg'
import type { DialectName } from 'shedlock-orm/sql'
import type { DataSourceOptions } from 'typeorm'
import { mariadbCounters, postgresCounters, sqliteCounters, type ServerCounters } from './server-counters'

/** One autocommit statement through the raw driver. */
export type RunRaw = (text: string, values?: (string | number | null)[]) => Promise<unknown>

export interface RawClient {
  readonly run: RunRaw
  close(): Promise<unknown>
}

/** What differs between the databases that are measured. */
export interface BenchDatabase {
  readonly dialect: DialectName
  readonly defaultUrl: string | undefined
  placeholder(position: number): string
  /** A single connection, unless told otherwise. */
  raw(url: string, connections?: number): RawClient
  typeOrm(url: string, connections: number): DataSourceOptions
  counters(control: RunRaw, url: string): ServerCounters
  /** Begins a transaction that locks the row, or the file. */
  lockRow(table: string, name: string): string[]
}

export const benchDatabases: Readonly<Record<string, BenchDatabase>> = {
  postgres: {
    dialect: 'postgres',
    defaultUrl: 'postgres://postgres@127.0.0.1:5432/test',
    placeholder: (position) => `$${String(position + 1)}`,
    raw: (url, max = 1) => {
      const pool = new pg.Pool({ connectionString: url, max })
      return { run: (text, values) => pool.query(text, values), close: () => pool.end() }
    },
    typeOrm: (url, poolSize) => ({ type: 'postgres', url, poolSize }),
    counters: postgresCounters,
    lockRow: (table, name) => ['begin', `select 1 from ${table} where name = '${name}' for update`],
  },
  mariadb: {
    dialect: 'mariadb',
    defaultUrl: 'mysql://root@127.0.0.1:3306/test',
    placeholder: () => '?',
    raw: (uri, connectionLimit = 1) => {
      const pool = mysql.createPool({ uri, connectionLimit })
      return { run: (text, values) => pool.query(text, values), close: () => pool.end() }
    },
    typeOrm: (url, poolSize) => ({ type: 'mariadb', url, poolSize }),
    counters: mariadbCounters,
    lockRow: (table, name) => ['begin', `select 1 from ${table} where name = '${name}' for update`],
  },
  sqlite: {
    dialect: 'sqlite',
    defaultUrl: undefined,
    placeholder: () => '?',
    raw: (file) => {
      const database = new Database(file)
      database.pragma('journal_mode = WAL')
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

/** Where the server is, or a new file. */
export function location(name: string): { url: string; remove(): void } {
  const url = process.env[`${name.toUpperCase()}_URL`] ?? benchDatabases[name]?.defaultUrl
  if (url) return { url, remove: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'shedlock-bench-'))
  return { url: join(folder, 'bench.sqlite'), remove: () => rmSync(folder, { recursive: true }) }
}
