import { createRequire } from 'node:module'
import {
  dialects,
  lockStatements,
  tableSql,
  render,
  sql,
  tableDefinition,
  type Dialect,
  type SqlRow,
  type Sql,
  type SqlValues,
} from '../../../src/sql/internal'
import type { LockStatements } from '../../../src/sql/statements'
import type { Twin } from '../database'
import type { Table } from './table'

/** What the simulation uses of better-sqlite3, which has no type declarations. */
interface Sqlite {
  exec(script: string): void
  function(name: string, implementation: () => string): void
  prepare(text: string): SqliteStatement
  close(): void
}
interface SqliteStatement {
  readonly reader: boolean
  all(...values: readonly unknown[]): SqlRow[]
  get(...values: readonly unknown[]): SqlRow | undefined
  run(...values: readonly unknown[]): { readonly changes: number }
}
const Sqlite = createRequire(__filename)('better-sqlite3') as new (file: string) => Sqlite

/** SQLite's own dialect, with the clock of the simulation. */
const dialect: Dialect = { ...dialects.sqlite, now: sql`simulated_now()` }

/** A real in-memory SQLite, which runs the same statements as the model. */
export class SqliteTwin implements Twin {
  readonly #database = new Sqlite(':memory:')
  readonly #statements = new Map<string, Sql>()
  readonly #rows: SqliteStatement
  #now = 0

  /** @param model the model's statements, which are recognised by their text */
  constructor(model: LockStatements) {
    const text = (time: number): string => new Date(time).toISOString().replace('T', ' ').replace('Z', '')
    this.#database.function('simulated_now', () => text(this.#now))
    const table = tableSql(dialect)
    this.#database.exec(tableDefinition(dialect).create)
    const real = lockStatements(dialect, table)
    for (const [known, own] of pairs(model, real)) this.#statements.set(key(known), own)
    this.#rows = this.#database.prepare(
      `select name, ${['lock_until', 'locked_at'].map((column) => `cast(round((julianday(${column}) - 2440587.5) * 86400000) as integer) as ${column}`).join(', ')}, locked_by from shedlock where name = ?`,
    )
  }

  run(
    statement: Sql,
    values: SqlValues,
    now: number,
  ): { readonly rows: readonly SqlRow[]; readonly changed: number } {
    const own = this.#statements.get(key(statement))
    if (!own) throw new Error(`SQLite has no such statement: ${key(statement)}`)
    this.#now = now
    const prepared = this.#database.prepare(render(own))
    const bound = own.parameters.map((name) => values[name] ?? null)
    if (prepared.reader) return { rows: prepared.all(...bound), changed: 0 }
    return { rows: [], changed: prepared.run(...bound).changes }
  }

  rowsEqual(table: Table, name: string | undefined): string | undefined {
    if (name === undefined) return undefined
    const expected = JSON.stringify(table.row(name))
    const found = JSON.stringify(this.#rows.get(name))
    return expected === found ? undefined : `the model has ${expected}, SQLite ${found}`
  }

  delete(name: string): void {
    this.#database.prepare('delete from shedlock where name = ?').run(name)
  }

  close(): void {
    this.#database.close()
  }
}

function key({ pieces, parameters }: Sql): string {
  return pieces.map((piece, hole) => piece + (parameters[hole] ?? '')).join('?')
}

/** Returns pairs of corresponding statements. */
function* pairs(model: LockStatements, real: LockStatements): Generator<readonly [Sql, Sql]> {
  for (const method of ['acquire', 'acquireSlot'] as const)
    for (const [index, step] of model[method].entries()) {
      const other = real[method][index]
      if (other) yield [step.statement, other.statement]
    }
  for (const name of [
    'acquireAgain',
    'extend',
    'release',
    'releaseSlot',
    'releaseUnused',
    'releaseSeen',
    'pause',
    'fencingToken',
    'list',
    'find',
    'now',
  ] as const)
    yield [model[name], real[name]]
  yield [model.pin.statement, real.pin.statement]
}
