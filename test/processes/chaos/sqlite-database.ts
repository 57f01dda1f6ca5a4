import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dialects, tableDefinition } from '../../../src/sql/internal'
import type { ChaosDatabase } from './chaos-database'
import { DataDirectory } from '../servers/data-directory'
import { noteDestroyed, readWitness } from './witness'

/** What the harness uses of better-sqlite3, which has no type declarations. */
interface Connection {
  exec(text: string): unknown
  pragma(text: string): unknown
  prepare(text: string): { all(): unknown[]; get(): unknown }
  close(): unknown
}
const Database = createRequire(__filename)('better-sqlite3') as new (
  file: string,
  options?: { timeout: number },
) => Connection

const EPOCH = (time: string): string => `unixepoch(${time}, 'subsec') * 1000`
const NOW = EPOCH("'now'")
const witness = (event: string, values: string): string =>
  `create trigger witness_${event} after ${event} on shedlock for each row begin
   insert into lock_history (changed_at, name, locked_by, lock_until, locked_at) values (${NOW}, ${values}); end`
const TRIGGERS = [
  witness('insert', `new.name, new.locked_by, ${EPOCH('new.lock_until')}, ${EPOCH('new.locked_at')}`),
  witness('update', `new.name, new.locked_by, ${EPOCH('new.lock_until')}, ${EPOCH('new.locked_at')}`),
  witness('delete', 'old.name, null, 0, 0'),
]
const SCHEMA = [
  'create table lock_history (seq integer primary key autoincrement, changed_at real, name text, locked_by text, lock_until real, locked_at real)',
  'create table task_resource (name text primary key, value integer not null, current_run text)',
  'create table task_commit (run text primary key, name text, guarded integer, seen text)',
]

/** Creates a private SQLite file with a write-ahead log. */
export function sqliteDatabase(names: readonly string[], url?: string): Promise<ChaosDatabase> {
  if (url !== undefined) throw new Error('SQLite has no server, so --url is not possible.')
  const directory = new DataDirectory(100)
  const database = join(directory.path, 'chaos.sqlite')
  const admin = async <T>(work: (connection: Connection) => T | Promise<T>): Promise<T> => {
    const connection = new Database(database, { timeout: 0 })
    try {
      return await work(connection)
    } finally {
      connection.close()
    }
  }
  /** Polls, because waiting inside SQLite would block the harness. */
  const begin = async (connection: Connection): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      try {
        connection.exec('begin immediate')
        return
      } catch (error) {
        if (attempt > 3_000) throw error
        await sleep(2)
      }
    }
  }
  const inTransaction = (statements: readonly string[], work?: () => Promise<void>): Promise<void> =>
    admin(async (connection) => {
      await begin(connection)
      for (const statement of statements) connection.exec(statement)
      await work?.()
      connection.exec('commit')
    })
  const createTable = [...tableDefinition(dialects.sqlite).up, ...TRIGGERS]

  const connection = new Database(database)
  connection.pragma('journal_mode = wal')
  const created = [
    ...SCHEMA,
    ...createTable,
    ...names.map((name) => `insert into task_resource values ('${name}', 0, null)`),
  ]
  for (const statement of created) connection.exec(statement)
  const { version } = connection.prepare('select sqlite_version() as version').get() as { version: string }
  connection.close()

  return Promise.resolve({
    dialect: 'sqlite',
    version: `SQLite ${version}`,
    wishes: [],
    connection: () => ({ dialect: 'sqlite', url: `file:${database}` }),
    witness: () => admin((reader) => readWitness((query) => reader.prepare(query).all())),
    deleteRows: () => inTransaction(['delete from shedlock']),
    truncate: () => inTransaction(['delete from shedlock']),
    dropAndCreate: () => inTransaction(['drop table shedlock', noteDestroyed(NOW), ...createTable]),
    withTableLocked: (work) => inTransaction([], work),
    ...(directory.mounted && { withDiskFull: (work) => directory.whileFull(work) }),
    close: () => {
      directory.remove()
      return Promise.resolve()
    },
  })
}
