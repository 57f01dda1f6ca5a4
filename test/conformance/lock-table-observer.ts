import { drivers } from '../../src/drivers/drivers'
import { dialects } from '../../src/sql/dialects'
import type { DialectName } from '../../src/sql/dialect'
import { tableSql, type LockTableOptions } from '../../src/sql/names'
import { render, type Sql } from '../../src/sql/sql'
import { tableDefinition } from '../../src/sql/table/definition'
import type { TimeSql } from '../backends/server'
import { servers } from '../backends/servers'

/** A TypeORM DataSource, or what behaves like one. */
export interface Observer {
  query<T>(sql: string, parameters?: unknown[]): Promise<T>
}

/** A row of the lock table, whose times are milliseconds since 1970 in UTC. */
export interface LockRow {
  readonly name: string
  readonly lockUntil: number
  readonly lockedAt: number
  readonly lockedBy: string
}

const SQLITE: TimeSql = {
  now: `strftime('%Y-%m-%d %H:%M:%f', 'now')`,
  toMilliseconds: (time) => `cast(round((julianday(${time}) - 2440587.5) * 86400000) as integer)`,
  fromMilliseconds: (value) => `strftime('%Y-%m-%d %H:%M:%f', ${value} / 1000.0, 'unixepoch')`,
}

function timeOf(dialect: DialectName): TimeSql {
  const time = dialect === 'sqlite' ? SQLITE : servers.find((server) => server.dialect === dialect)?.time
  if (!time) throw new Error(`There is no server of ${dialect}.`)
  return time
}

/** Looks at a lock table, and changes it, past the library. */
export function observeLockTable(observer: Observer, dialectName: DialectName, names: LockTableOptions = {}) {
  const dialect = dialects[dialectName]
  const time = timeOf(dialectName)
  const placeholder = drivers[dialectName].placeholder
  const text = (statement: Sql): string => render(statement, placeholder)
  const table = tableSql(dialect, names)
  const [rows, name, lockUntil, lockedAt, lockedBy] = [
    table.table,
    table.name,
    table.lockUntil,
    table.lockedAt,
    table.lockedBy,
  ].map(text) as [string, string, string, string, string]
  const definition = tableDefinition(dialect, names)
  const dummy = dialectName === 'oracle' ? ' from dual' : ''

  const run = async (statements: readonly string[]): Promise<void> => {
    for (const statement of statements) await observer.query(statement)
  }
  const select = async (
    columns: Readonly<Record<string, string>>,
    rest: string,
    parameters: unknown[] = [],
  ) => {
    const list = Object.entries(columns).map(([alias, column]) => `${column} as ${dialect.quote(alias)}`)
    const sql = `select ${list.join(', ')} ${rest}`
    return observer.query<Record<string, unknown>[]>(sql, parameters)
  }

  return {
    createTable: () => run(definition.up),
    dropTable: () => run(definition.down),
    clock: async () => {
      const [row] = await select({ now: time.toMilliseconds(time.now) }, dummy)
      return Number(row?.['now'])
    },
    isHeld: async (wanted: string) => {
      const found = await select(
        { held: '1' },
        `from ${rows} where ${name} = ${placeholder(0)} and ${lockUntil} > ${time.now}`,
        [wanted],
      )
      return found.length > 0
    },
    findRow: async (wanted: string): Promise<LockRow | undefined> => {
      const [row] = await select(
        {
          name,
          lockUntil: time.toMilliseconds(lockUntil),
          lockedAt: time.toMilliseconds(lockedAt),
          lockedBy,
        },
        `from ${rows} where ${name} = ${placeholder(0)}`,
        [wanted],
      )
      if (!row) return undefined
      return {
        name: String(row['name']),
        lockUntil: Number(row['lockUntil']),
        lockedAt: Number(row['lockedAt']),
        lockedBy: String(row['lockedBy']),
      }
    },
    insertRow: async (row: LockRow) => {
      const until = time.fromMilliseconds(placeholder(1))
      const at = time.fromMilliseconds(placeholder(2))
      await observer.query(
        `insert into ${rows} (${name}, ${lockUntil}, ${lockedAt}, ${lockedBy}) values (${placeholder(0)}, ${until}, ${at}, ${placeholder(3)})`,
        [row.name, row.lockUntil, row.lockedAt, row.lockedBy],
      )
    },
    deleteRow: async (wanted: string) => {
      await observer.query(`delete from ${rows} where ${name} = ${placeholder(0)}`, [wanted])
    },
  }
}

/** Creates a lock table, to be looked at past the library. */
export async function createLockTable(...table: Parameters<typeof observeLockTable>) {
  const observed = observeLockTable(...table)
  await observed.createTable()
  return observed
}
