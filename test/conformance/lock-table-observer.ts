import { drivers } from '../../src/drivers/drivers'
import { dialects, type DialectName } from '../../src/sql/dialects'
import { tableSql, type LockTableOptions } from '../../src/sql/names'
import { render, type Sql } from '../../src/sql/sql'
import { tableDefinition } from '../../src/sql/table/definition'

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

interface TimeSql {
  readonly now: string
  /** Milliseconds since 1970 of a zone-less time in UTC. */
  toMilliseconds(time: string): string
  fromMilliseconds(placeholder: string): string
}

const postgres: TimeSql = {
  now: `(clock_timestamp() at time zone 'UTC')`,
  toMilliseconds: (time) => `floor(extract(epoch from ${time}) * 1000)::bigint`,
  fromMilliseconds: (value) => `timestamp 'epoch' + ${value}::float8 * interval '1 millisecond'`,
}
const mysql: TimeSql = {
  now: 'utc_timestamp(3)',
  toMilliseconds: (time) => `timestampdiff(microsecond, '1970-01-01', ${time}) div 1000`,
  fromMilliseconds: (value) => `timestamp '1970-01-01 00:00:00' + interval ${value} * 1000 microsecond`,
}
const oracleTime = (time: string): string => `(${time} - timestamp '1970-01-01 00:00:00')`

/** Said differently from the library's own statements where that is possible, so that one checks the other. */
const TIME: Readonly<Record<Exclude<DialectName, 'hana'>, TimeSql>> = {
  postgres,
  cockroachdb: postgres,
  mysql,
  mariadb: mysql,
  sqlite: {
    now: `strftime('%Y-%m-%d %H:%M:%f', 'now')`,
    toMilliseconds: (time) => `cast(round((julianday(${time}) - 2440587.5) * 86400000) as integer)`,
    fromMilliseconds: (value) => `strftime('%Y-%m-%d %H:%M:%f', ${value} / 1000.0, 'unixepoch')`,
  },
  mssql: {
    now: 'sysutcdatetime()',
    toMilliseconds: (time) => `datediff_big(millisecond, '1970-01-01', ${time})`,
    fromMilliseconds: (value) =>
      `dateadd(millisecond, ${value} % 86400000, dateadd(day, ${value} / 86400000, cast('1970-01-01' as datetime2(3))))`,
  },
  oracle: {
    now: 'sys_extract_utc(systimestamp)',
    toMilliseconds: (time) =>
      `floor(extract(day from ${oracleTime(time)}) * 86400000 + extract(hour from ${oracleTime(time)}) * 3600000 + extract(minute from ${oracleTime(time)}) * 60000 + extract(second from ${oracleTime(time)}) * 1000)`,
    fromMilliseconds: (value) =>
      `timestamp '1970-01-01 00:00:00' + numtodsinterval(${value} / 1000, 'second')`,
  },
  spanner: {
    now: 'current_timestamp()',
    toMilliseconds: (time) => `timestamp_diff(${time}, timestamp '1970-01-01 00:00:00+00', millisecond)`,
    fromMilliseconds: (value) => `timestamp_millis(${value})`,
  },
}

/** Looks at a lock table, and changes it, past the library. */
export function observeLockTable(observer: Observer, dialectName: DialectName, names: LockTableOptions = {}) {
  const dialect = dialects[dialectName]
  if (dialectName === 'hana') throw new Error('There is no server of SAP HANA.')
  const time = TIME[dialectName]
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
