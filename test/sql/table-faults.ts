import type { DialectName, LockTableOptions } from '../../src/sql/internal'

/** What is wrong with a lock table that somebody made by hand, the severities and codes of its findings, and the SQL that makes it. */
export type TableFault = readonly [
  fault: string,
  found: string,
  make: readonly string[],
  options?: LockTableOptions,
]
type Columns = Readonly<Record<'name' | 'lock_until' | 'locked_at' | 'locked_by', string>>

const KEY = 'not null primary key'

/**
 * Makes a lock table with some of the columns changed, `''` for one that is not there, and with a row. A column is not null unless it
 * says so itself.
 */
const tableOf =
  (name: string, time: string, owner: string) =>
  (changed: Partial<Columns>, row?: string): string[] => {
    const columns: Columns = { name: `${name} ${KEY}`, lock_until: time, locked_at: time, locked_by: owner }
    const all = Object.entries({ ...columns, ...changed })
      .filter(([, type]) => type !== '')
      .map(([column, type]) => `${column} ${type}${type.includes(' null') ? '' : ' not null'}`)
    const table = `create table shedlock (${all.join(', ')})`
    return row === undefined ? [table] : [table, `insert into shedlock values (${row})`]
  }
const postgres = tableOf('varchar(64)', 'timestamp(3)', 'varchar(255)')
const mysql = tableOf('varchar(64) collate utf8mb4_bin', 'datetime(3)', 'varchar(255)')
const sqlite = tableOf('varchar(64)', 'datetime(3)', 'varchar(255)')
const mssql = tableOf('nvarchar(64) collate Latin1_General_100_BIN2', 'datetime2(3)', 'nvarchar(255)')
const oracle = tableOf('varchar2(64 char)', 'timestamp(3)', 'varchar2(255 char)')
const TIMES = `'2020-01-01 00:00:00', '2020-01-01 00:00:00'`
const ROW = `'old', ${TIMES}, 'somebody'`

const KEY_OF_SOME_ROWS = `create unique index some_rows on shedlock (name) where name <> 'job'`
const KEY_OF_TWO = 'alter table shedlock add primary key (name, locked_at)'
const IGNORE_CASE = `create collation ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`

const javaTableWith = (time: string, ofLockedAt = '') =>
  `create table shedlock (name varchar(64) not null, lock_until ${time} not null,
    locked_at ${time} not null${ofLockedAt}, locked_by varchar(255) not null, primary key (name))`
const JAVA_MYSQL = javaTableWith('timestamp(3)', ' default current_timestamp(3)')
/** As ShedLock's documentation has them for Java services. */
export const JAVA_TABLES: Readonly<Partial<Record<DialectName, string>>> = {
  postgres: javaTableWith('timestamp'),
  mysql: JAVA_MYSQL,
  mariadb: JAVA_MYSQL,
  mssql: javaTableWith('datetime2'),
  oracle: javaTableWith('timestamp'),
}
const javaTable = (dialect: DialectName, ...found: string[]): TableFault => [
  "a Java service's table",
  found.join(', '),
  [JAVA_TABLES[dialect] ?? ''],
]

const NULLS = `'old', null, null, 'somebody'`
const nulls = (table: typeof postgres, time: string, found: string, owner = 'varchar(255)'): TableFault => [
  `a row of nulls: ${time}`,
  `error: TIME_INVALID, ${found}`,
  table({ lock_until: `${time} null`, locked_at: `${time} null`, locked_by: `${owner} null` }, NULLS),
]
const MISSING = 'error: COLUMN_MISSING'
const TYPE = 'error: COLUMN_TYPE'
const SHORT = 'error: COLUMN_TOO_SHORT'
const KEYLESS = 'error: KEY_MISSING'
const CASE = 'warning: CASE_IGNORED'
const NULLABLE = 'warning: COLUMN_NULLABLE'
const TYPE_1970 = 'warning: COLUMN_TYPE'
const THREE_NULLABLE = [NULLABLE, NULLABLE, NULLABLE].join(', ')
const NULLABLE_1970 = [TYPE_1970, NULLABLE, TYPE_1970, NULLABLE, NULLABLE].join(', ')

const NO_TABLE: TableFault = ['no table', 'error: TABLE_MISSING', []]
const mysqlName = (rest: string) => ({ name: `varchar(64) collate ${rest}` })
const SET_BY_UPDATES = 'datetime(3) not null on update current_timestamp(3)'
const mysqlFaults: readonly TableFault[] = [
  NO_TABLE,
  javaTable('mysql', TYPE_1970, TYPE_1970, CASE),
  ['no column locked_by', MISSING, mysql({ locked_by: '' }, `'old', now(), now()`)],
  ['a time without milliseconds', TYPE, mysql({ lock_until: 'datetime' }, ROW)],
  ['a name that ignores case', CASE, mysql(mysqlName(`utf8mb4_general_ci ${KEY}`))],
  ['no key', KEYLESS, mysql(mysqlName('utf8mb4_bin'))],
  ['a key that is longer than the name', KEYLESS, [...mysql(mysqlName('utf8mb4_bin')), KEY_OF_TWO]],
  ['a name that is too short', SHORT, mysql({ name: `varchar(20) collate utf8mb4_bin ${KEY}` })],
  nulls(mysql, 'datetime(3)', THREE_NULLABLE),
  nulls(mysql, 'timestamp(3)', NULLABLE_1970, 'text'),
  [
    'times that change by themselves',
    'error: OBSTACLE, warning: OBSTACLE',
    mysql({ lock_until: SET_BY_UPDATES, locked_at: SET_BY_UPDATES }, ROW),
  ],
  [
    'strings that are padded with zero bytes',
    `${TYPE}, ${TYPE}`,
    mysql({ name: `binary(64) ${KEY}`, locked_by: 'binary(255)' }),
  ],
  [
    'a text name with a key of its beginning',
    KEYLESS,
    mysql({ name: 'text collate utf8mb4_bin not null, primary key (name(64))' }, ROW),
  ],
]
/** Faults that SQL can make. */
export const tableFaults: Readonly<Partial<Record<DialectName, readonly TableFault[]>>> = {
  postgres: [
    NO_TABLE,
    javaTable('postgres'),
    ['no column locked_by', MISSING, postgres({ locked_by: '' }, `'old', now(), now()`)],
    ['a time with a zone', TYPE, postgres({ lock_until: 'timestamptz' }, ROW)],
    ['a time without milliseconds', TYPE, postgres({ lock_until: 'timestamp(0)' }, ROW)],
    [
      'a name that ignores case',
      CASE,
      [IGNORE_CASE, ...postgres({ name: `varchar(64) collate ignore_case ${KEY}` })],
    ],
    [
      'a citext name',
      `${TYPE}, ${CASE}`,
      ['create extension citext', ...postgres({ name: `citext ${KEY}` })],
    ],
    ['no key', KEYLESS, postgres({ name: 'varchar(64)' })],
    ['a key for some rows only', KEYLESS, [...postgres({ name: 'varchar(64)' }), KEY_OF_SOME_ROWS]],
    ['an owner that is too short', SHORT, postgres({ locked_by: 'varchar(40)' })],
    nulls(postgres, 'timestamp(3)', THREE_NULLABLE),
  ],
  mssql: [NO_TABLE, ['no column locked_by', MISSING, mssql({ locked_by: '' })]],
  oracle: [NO_TABLE, ['no column locked_by', MISSING, oracle({ locked_by: '' })]],
  mariadb: mysqlFaults,
  mysql: mysqlFaults,
  sqlite: [
    NO_TABLE,
    [
      'no column locked_by, and a time that may be null',
      `${MISSING}, ${NULLABLE}`,
      sqlite({ lock_until: 'datetime null', locked_by: '' }),
    ],
    ['a name that ignores case', CASE, sqlite({ name: `text collate nocase ${KEY}` }, ROW)],
    ['no key', KEYLESS, sqlite({ name: 'text' })],
    ['a key for some rows only', KEYLESS, [...sqlite({ name: 'text' }), KEY_OF_SOME_ROWS]],
    ['no key in a schema', KEYLESS, sqlite({ name: 'text' }), { schema: 'main' }],
    [
      'a key that is longer than the name',
      KEYLESS,
      [...sqlite({ name: 'text' }), 'create unique index longer on shedlock (name, lower(locked_by))'],
    ],
    nulls(sqlite, 'datetime', THREE_NULLABLE),
  ],
}
