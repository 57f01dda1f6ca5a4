import { createRequire } from 'node:module'
import { dialects } from '../../../src/sql/dialects'
import type { SqlRow } from '../../../src/sql/session'
import { raw, render, type LockValues, type Sql } from '../../../src/sql/sql'
import { tableDefinition } from '../../../src/sql/table/definition'

/** A row of the lock table. Times are milliseconds since 1970. */
export interface LockRow {
  readonly name: string
  readonly lock_until: number
  readonly locked_at: number
  readonly locked_by: string
}

export interface Change {
  readonly before: LockRow | undefined
  readonly after: LockRow | undefined
}

/** What a statement found and changed. */
export interface Effect {
  readonly rows: readonly SqlRow[]
  readonly changes: readonly Change[]
}

/** What a statement can read besides the rows. */
export interface Server {
  /** The time of the server's clock, in whole milliseconds since 1970. */
  readonly now: number
  readonly isReadOnly: boolean
  /** The rows as they were when the statement began, for its reads. Default: the current rows. */
  readonly seen?: readonly LockRow[] | undefined
}

/** What the simulation uses of better-sqlite3, which has no type declarations. */
interface Sqlite {
  exec(script: string): void
  prepare(text: string): SqliteStatement
  close(): void
}
interface SqliteStatement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  get(...values: unknown[]): unknown
  run(...values: unknown[]): { readonly changes: number }
}
const Sqlite = createRequire(__filename)('better-sqlite3') as new (file: string) => Sqlite

/** A statement that the table can run: what it writes, what it reads, or both. */
interface Prepared {
  readonly write?: SqliteStatement
  readonly read?: SqliteStatement
}

const { sqlite } = dialects
const milliseconds = (column: string): string =>
  `${render(sqlite.epochMilliseconds(raw(column)))} as ${column}`
const ROWS = `select name, ${milliseconds('lock_until')}, ${milliseconds('locked_at')}, locked_by from shedlock`
const time = render(sqlite.plus(sqlite.epoch, raw('?')))

/**
 * The lock table. A SQLite in memory runs the statements of every dialect. A statement writes the current rows, but reads them as
 * they were when it began, from a table of their own.
 */
export class Table {
  readonly #database = new Sqlite(':memory:')
  readonly #prepared = new WeakMap<Sql, Prepared>()
  readonly #rows: SqliteStatement
  readonly #row: SqliteStatement
  readonly #put: SqliteStatement
  readonly #delete: SqliteStatement
  readonly #forget: SqliteStatement
  readonly #see: SqliteStatement
  readonly #seeCurrent: SqliteStatement
  /** Whether the rows to read are the current ones. */
  #isCurrent = false

  constructor() {
    const database = this.#database
    database.exec(`${tableDefinition(sqlite).create};
      create table seen as select * from shedlock;
      create table dual as select 1`)
    this.#rows = database.prepare(ROWS)
    this.#row = database.prepare(`${ROWS} where name = ?`)
    this.#put = database.prepare(`insert or replace into shedlock values (?, ${time}, ${time}, ?)`)
    this.#see = database.prepare(`insert into seen values (?, ${time}, ${time}, ?)`)
    this.#delete = database.prepare('delete from shedlock where name = ?')
    this.#forget = database.prepare('delete from seen')
    this.#seeCurrent = database.prepare('insert into seen select * from shedlock')
  }

  rows(): LockRow[] {
    return this.#rows.all() as LockRow[]
  }

  row(name: string): LockRow | undefined {
    return this.#row.get(name) as LockRow | undefined
  }

  put(row: LockRow): void {
    this.#isCurrent = false
    this.#put.run(row.name, row.lock_until, row.locked_at, row.locked_by)
  }

  delete(name: string): void {
    this.#isCurrent = false
    this.#delete.run(name)
  }

  /** @throws SQLite's error if an inserted row already exists */
  run(statement: Sql, values: LockValues, { now, isReadOnly, seen }: Server): Effect {
    this.#readFrom(seen)
    const { write, read } = this.#prepare(statement)
    const bound: Record<string, unknown> = {
      now: new Date(now).toISOString().replace('T', ' ').replace('Z', ''),
      isReadOnly: Number(isReadOnly),
    }
    for (const parameter of statement.parameters)
      bound[parameter] = values[parameter as keyof LockValues] ?? null
    const { name = '' } = values
    const before = write && this.row(name)
    const changed = write?.run(bound).changes ?? 0
    if (changed > 0) this.#isCurrent = false
    return {
      rows: (read?.all({ ...bound, changed }) ?? []) as SqlRow[],
      changes: changed > 0 ? [{ before, after: this.row(name) }] : [],
    }
  }

  #readFrom(seen: readonly LockRow[] | undefined): void {
    if (!seen && this.#isCurrent) return
    this.#forget.run()
    if (!seen) this.#seeCurrent.run()
    for (const row of seen ?? []) this.#see.run(row.name, row.lock_until, row.locked_at, row.locked_by)
    this.#isCurrent = !seen
  }

  undo(changes: readonly Change[]): void {
    for (const { before, after } of changes) {
      if (before) this.put(before)
      else if (after) this.delete(after.name)
    }
  }

  close(): void {
    this.#database.close()
  }

  #prepare(statement: Sql): Prepared {
    const known = this.#prepared.get(statement)
    if (known) return known
    const text = render(statement, (at) => `:${statement.parameters[at]}`)
    const prepared = this.#prepareText(inSqlite(text))
    this.#prepared.set(statement, prepared)
    return prepared
  }

  #prepareText(text: string): Prepared {
    // SQLite has no update inside of a select.
    const [, name, update, select] =
      /^\s*with (\w+) as \(\s*(update .*?)\s+returning 1\)\s+(select .*)$/s.exec(text) ?? []
    if (update !== undefined)
      return {
        write: this.#database.prepare(update),
        read: this.#database.prepare(`with ${name} as (select 1 where :changed) ${select}`),
      }
    const prepared = this.#database.prepare(text)
    return prepared.reader ? { read: prepared } : { write: prepared }
  }
}

function inSqlite(text: string): string {
  return (
    text
      // A read that locks the row sees its newest version.
      .replace(/\bfrom "shedlock"( where [^()]* for (?:update|no key update))/g, 'from main.shedlock$1')
      .replace(/\b(from|join) "shedlock"/g, '$1 seen')
      .replaceAll('now()', ':now')
      .replaceAll('read_only()', ':isReadOnly')
      .replaceAll('greatest(', 'max(')
      .replaceAll('least(', 'min(')
      .replace(/ for (share|update|no key update)( nowait| skip locked)?(?=\)|$)/g, '')
      .replace(/set_config\('\w+', ('\w+'), true\)/g, '$1')
  )
}
