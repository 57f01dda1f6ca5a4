import type { DialectName, LockTableOptions } from '../../src/sql/internal'

/** What is wrong with a lock table that somebody made by hand, the severities and codes of its findings, and the SQL that makes it. */
export type TableFault = readonly [
  fault: string,
  found: string,
  make: readonly string[],
  options?: LockTableOptions,
]
type Columns = Readonly<Record<'name' | 'lock_until' | 'locked_at' | 'locked_by', string>>

/** Makes a lock table with some of the columns changed, `''` for one that is not there, and with a row. */
const tableOf =
  (name: string, time: string, owner: string) =>
  (changed: Partial<Columns>, row?: string): string[] => {
    const columns: Columns = {
      name: `${name} not null primary key`,
      lock_until: `${time} not null`,
      locked_at: `${time} not null`,
      locked_by: `${owner} not null`,
    }
    const all = Object.entries({ ...columns, ...changed }).filter(([, type]) => type !== '')
    const table = `create table shedlock (${all.map((column) => column.join(' ')).join(', ')})`
    return row === undefined ? [table] : [table, `insert into shedlock values (${row})`]
  }
const postgres = tableOf('varchar(64)', 'timestamp(3)', 'varchar(255)')
const mysql = tableOf('varchar(64) collate utf8mb4_bin', 'datetime(3)', 'varchar(255)')
const sqlite = tableOf('varchar(64)', 'datetime(3)', 'varchar(255)')
const mssql = tableOf('nvarchar(64) collate Latin1_General_100_BIN2', 'datetime2(3)', 'nvarchar(255)')
const oracle = tableOf('varchar2(64 char)', 'timestamp(3)', 'varchar2(255 char)')
const TIMES = `'2020-01-01 00:00:00', '2020-01-01 00:00:00'`
const ROW = `'old', ${TIMES}, 'somebody'`
const ORACLE_TIMES = `date '2020-01-01', date '2020-01-01'`

const KEYLESS_MYSQL = { name: 'varchar(64) collate utf8mb4_bin not null' }
const SET_BY_UPDATES = 'datetime(3) not null on update current_timestamp(3)'
const KEYLESS_MSSQL = { name: 'nvarchar(64) collate Latin1_General_100_BIN2 not null' }
const KEY_OF_SOME_ROWS = `create unique index some_rows on shedlock (name) where name <> 'job'`
const ANOTHER_KEY = 'alter table shedlock add id int identity constraint shedlock_pkey primary key'
const IGNORE_CASE = `create collation ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`
const KEY_OF_TWO = 'alter table shedlock add primary key (name, locked_at)'

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

const nulls = (table: typeof postgres, time: string): TableFault => [
  'a row of nulls',
  'error: TIME_INVALID, warning: COLUMN_NULLABLE, warning: COLUMN_NULLABLE, warning: COLUMN_NULLABLE',
  table({ lock_until: time, locked_at: time, locked_by: 'varchar(255)' }, `'old', null, null, null`),
]
const NO_TABLE: TableFault = ['no table', 'error: TABLE_MISSING', []]
const mysqlFaults: readonly TableFault[] = [
  NO_TABLE,
  javaTable('mysql', 'warning: COLUMN_TYPE', 'warning: COLUMN_TYPE', 'warning: CASE_IGNORED'),
  ['no column locked_by', 'error: COLUMN_MISSING', mysql({ locked_by: '' }, `'old', now(), now()`)],
  ['a time without milliseconds', 'error: COLUMN_TYPE', mysql({ lock_until: 'datetime not null' }, ROW)],
  [
    'a name that ignores case',
    'warning: CASE_IGNORED',
    mysql({ name: 'varchar(64) collate utf8mb4_general_ci not null primary key' }),
  ],
  ['no key', 'error: KEY_MISSING', mysql(KEYLESS_MYSQL)],
  ['a key that is longer than the name', 'error: KEY_MISSING', [...mysql(KEYLESS_MYSQL), KEY_OF_TWO]],
  [
    'a name that is too short',
    'error: COLUMN_TOO_SHORT',
    mysql({ name: 'varchar(20) collate utf8mb4_bin not null primary key' }),
  ],
  ['a time that may be null', 'warning: COLUMN_NULLABLE', mysql({ lock_until: 'datetime(3)' })],
  nulls(mysql, 'datetime(3)'),
  [
    'a row of nulls, with times that begin in 1970',
    `error: TIME_INVALID, ${'warning: COLUMN_TYPE, warning: COLUMN_NULLABLE, '.repeat(2)}warning: COLUMN_NULLABLE`,
    mysql(
      { lock_until: 'timestamp(3) null', locked_at: 'timestamp(3) null', locked_by: 'text' },
      `'old', null, null, null`,
    ),
  ],
  [
    'times that change by themselves',
    'error: OBSTACLE, warning: OBSTACLE',
    mysql({ lock_until: SET_BY_UPDATES, locked_at: SET_BY_UPDATES }, ROW),
  ],
  [
    'strings that are padded with zero bytes',
    'error: COLUMN_TYPE, error: COLUMN_TYPE',
    mysql({ name: 'binary(64) not null primary key', locked_by: 'binary(255) not null' }),
  ],
  [
    'a text name with a key of its beginning',
    'error: KEY_MISSING',
    mysql({ name: 'text collate utf8mb4_bin not null, primary key (name(64))' }, ROW),
  ],
]

/** Faults that SQL can make and fix. */
export const tableFaults: Readonly<Partial<Record<DialectName, readonly TableFault[]>>> = {
  postgres: [
    NO_TABLE,
    javaTable('postgres'),
    ['no column locked_by', 'error: COLUMN_MISSING', postgres({ locked_by: '' }, `'old', now(), now()`)],
    ['a time with a zone', 'error: COLUMN_TYPE', postgres({ lock_until: 'timestamptz not null' }, ROW)],
    [
      'a time without milliseconds',
      'error: COLUMN_TYPE',
      postgres({ lock_until: 'timestamp(0) not null' }, ROW),
    ],
    [
      'a name that ignores case',
      'warning: CASE_IGNORED',
      [IGNORE_CASE, ...postgres({ name: 'varchar(64) collate ignore_case not null primary key' })],
    ],
    [
      'a citext name',
      'error: COLUMN_TYPE',
      ['create extension citext', ...postgres({ name: 'citext not null primary key' })],
    ],
    ['no key', 'error: KEY_MISSING', postgres({ name: 'varchar(64) not null' })],
    [
      'a key for some rows only',
      'error: KEY_MISSING',
      [...postgres({ name: 'varchar(64) not null' }), KEY_OF_SOME_ROWS],
    ],
    [
      'an owner that is too short',
      'error: COLUMN_TOO_SHORT',
      postgres({ locked_by: 'varchar(40) not null' }),
    ],
    ['a time that may be null', 'warning: COLUMN_NULLABLE', postgres({ lock_until: 'timestamp(3)' })],
    nulls(postgres, 'timestamp(3)'),
  ],
  mssql: [
    NO_TABLE,
    // What fixes the name's type fixes its collation, too.
    javaTable('mssql', 'warning: COLUMN_TYPE', 'warning: COLUMN_TYPE'),
    [
      'no column locked_by',
      'error: COLUMN_MISSING',
      mssql({ locked_by: '' }, `'old', sysutcdatetime(), sysutcdatetime()`),
    ],
    ['a datetime', 'error: COLUMN_TYPE', mssql({ lock_until: 'datetime not null' }, ROW)],
    [
      'a time without milliseconds',
      'error: COLUMN_TYPE',
      mssql({ lock_until: 'datetime2(0) not null' }, ROW),
    ],
    [
      'a name that ignores case',
      'warning: CASE_IGNORED',
      mssql({ name: 'nvarchar(64) collate Latin1_General_CI_AS not null primary key' }, ROW),
    ],
    ['no key', 'error: KEY_MISSING', mssql(KEYLESS_MSSQL)],
    ['a key for some rows only', 'error: KEY_MISSING', [...mssql(KEYLESS_MSSQL), KEY_OF_SOME_ROWS]],
    [
      'a unique name that is too short, beside another primary key',
      'error: COLUMN_TOO_SHORT',
      [...mssql({ name: 'nvarchar(20) collate Latin1_General_100_BIN2 not null unique' }), ANOTHER_KEY],
    ],
    ['a time that may be null', 'warning: COLUMN_NULLABLE', mssql({ lock_until: 'datetime2(3) null' })],
  ],
  oracle: [
    NO_TABLE,
    javaTable('oracle'),
    ['no column locked_by', 'error: COLUMN_MISSING', oracle({ locked_by: '' }, `'old', ${ORACLE_TIMES}`)],
    [
      'a DATE',
      'error: COLUMN_TYPE',
      oracle({ lock_until: 'date not null' }, `'old', ${ORACLE_TIMES}, 'somebody'`),
    ],
    ['no key', 'error: KEY_MISSING', oracle({ name: 'varchar2(64 char) not null' })],
    [
      'an owner that is too short',
      'error: COLUMN_TOO_SHORT',
      oracle({ locked_by: 'varchar2(40 char) not null' }),
    ],
    ['a time that may be null', 'warning: COLUMN_NULLABLE', oracle({ lock_until: 'timestamp(3)' })],
  ],
  mariadb: mysqlFaults,
  mysql: mysqlFaults,
  sqlite: [
    NO_TABLE,
    ['no column locked_by', 'error: COLUMN_MISSING', sqlite({ locked_by: '' }, `'old', ${TIMES}`)],
    [
      'a name that ignores case',
      'warning: CASE_IGNORED',
      sqlite({ name: 'text collate nocase not null primary key' }, ROW),
    ],
    ['no key', 'error: KEY_MISSING', sqlite({ name: 'text not null' })],
    ['no key in a schema', 'error: KEY_MISSING', sqlite({ name: 'text not null' }), { schema: 'main' }],
    [
      'a key that is longer than the name',
      'error: KEY_MISSING',
      [
        ...sqlite({ name: 'text not null' }),
        'create unique index longer on shedlock (name, lower(locked_by))',
      ],
    ],
    ['a time that may be null', 'warning: COLUMN_NULLABLE', sqlite({ lock_until: 'datetime' })],
    nulls(sqlite, 'datetime'),
  ],
}
