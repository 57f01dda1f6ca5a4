import type { DialectName } from '../../src/sql'
import { mssqlFaults } from './mssql-faults'
import { oracleFaults } from './oracle-faults'
import { row, table, tableWith, type TableFault } from './table-fault'

const postgresColumns = {
  name: 'name varchar(64) not null primary key',
  lockUntil: 'lock_until timestamp(3) not null',
  lockedAt: 'locked_at timestamp(3) not null',
  lockedBy: 'locked_by varchar(255) not null',
}
const mysqlColumns = {
  name: 'name varchar(64) collate utf8mb4_bin not null primary key',
  lockUntil: 'lock_until datetime(3) not null',
  lockedAt: 'locked_at datetime(3) not null',
  lockedBy: 'locked_by varchar(255) not null',
}
const mysqlFaults: TableFault[] = [
  { fault: 'no table', make: [], code: 'TABLE_MISSING' },
  {
    fault: 'no column locked_by',
    make: [
      ...table(mysqlColumns.name, mysqlColumns.lockUntil, mysqlColumns.lockedAt),
      `insert into shedlock values ('old', now(), now())`,
    ],
    code: 'COLUMN_MISSING',
  },
  {
    fault: 'a time without milliseconds',
    make: [...tableWith(mysqlColumns, { lockUntil: 'lock_until datetime not null' }), row],
    code: 'COLUMN_TYPE',
  },
  {
    fault: 'a TIMESTAMP, as in the tables of Java services',
    make: [...tableWith(mysqlColumns, { lockUntil: 'lock_until timestamp(3) not null' }), row],
    code: 'COLUMN_TYPE',
    severity: 'warning',
  },
  {
    fault: 'a name that ignores case',
    make: tableWith(mysqlColumns, {
      name: 'name varchar(64) collate utf8mb4_general_ci not null primary key',
    }),
    code: 'CASE_IGNORED',
    severity: 'warning',
  },
  {
    fault: 'no key',
    make: tableWith(mysqlColumns, { name: 'name varchar(64) collate utf8mb4_bin not null' }),
    code: 'KEY_MISSING',
  },
  {
    fault: 'a key that is longer than the name',
    make: [
      ...tableWith(mysqlColumns, { name: 'name varchar(64) collate utf8mb4_bin not null' }),
      'alter table shedlock add primary key (name, locked_at)',
    ],
    code: 'KEY_MISSING',
  },
  {
    fault: 'a name that is too short',
    make: tableWith(mysqlColumns, { name: 'name varchar(20) collate utf8mb4_bin not null primary key' }),
    code: 'COLUMN_TOO_SHORT',
  },
  {
    fault: 'a time that may be null',
    make: tableWith(mysqlColumns, { lockUntil: 'lock_until datetime(3)' }),
    code: 'COLUMN_NULLABLE',
    severity: 'warning',
  },
]

/** Faults that SQL can make and fix. */
export const tableFaults: Readonly<Partial<Record<DialectName, readonly TableFault[]>>> = {
  postgres: [
    { fault: 'no table', make: [], code: 'TABLE_MISSING' },
    {
      fault: 'no column locked_by',
      make: [
        ...table(postgresColumns.name, postgresColumns.lockUntil, postgresColumns.lockedAt),
        `insert into shedlock values ('old', now(), now())`,
      ],
      code: 'COLUMN_MISSING',
    },
    {
      fault: 'a time with a zone',
      make: [...tableWith(postgresColumns, { lockUntil: 'lock_until timestamptz not null' }), row],
      code: 'COLUMN_TYPE',
    },
    {
      fault: 'a time without milliseconds',
      make: [...tableWith(postgresColumns, { lockUntil: 'lock_until timestamp(0) not null' }), row],
      code: 'COLUMN_TYPE',
    },
    {
      fault: 'a name that ignores case',
      make: [
        `create collation ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
        ...tableWith(postgresColumns, { name: 'name varchar(64) collate ignore_case not null primary key' }),
      ],
      code: 'CASE_IGNORED',
      severity: 'warning',
    },
    {
      fault: 'a citext name',
      make: [
        'create extension citext',
        ...tableWith(postgresColumns, { name: 'name citext not null primary key' }),
      ],
      code: 'COLUMN_TYPE',
    },
    {
      fault: 'no key',
      make: tableWith(postgresColumns, { name: 'name varchar(64) not null' }),
      code: 'KEY_MISSING',
    },
    {
      fault: 'a key for some rows only',
      make: [
        ...tableWith(postgresColumns, { name: 'name varchar(64) not null' }),
        `create unique index some_rows on shedlock (name) where name <> 'job'`,
      ],
      code: 'KEY_MISSING',
    },
    {
      fault: 'an owner that is too short',
      make: tableWith(postgresColumns, { lockedBy: 'locked_by varchar(40) not null' }),
      code: 'COLUMN_TOO_SHORT',
    },
    {
      fault: 'a time that may be null',
      make: tableWith(postgresColumns, { lockUntil: 'lock_until timestamp(3)' }),
      code: 'COLUMN_NULLABLE',
      severity: 'warning',
    },
  ],
  mssql: mssqlFaults,
  oracle: oracleFaults,
  mariadb: mysqlFaults,
  mysql: mysqlFaults,
  sqlite: [
    { fault: 'no table', make: [], code: 'TABLE_MISSING' },
    {
      fault: 'no column locked_by',
      make: [
        ...table(
          mysqlColumns.name.replace('collate utf8mb4_bin', ''),
          mysqlColumns.lockUntil,
          mysqlColumns.lockedAt,
        ),
        `insert into shedlock values ('old', '2020-01-01', '2020-01-01')`,
      ],
      code: 'COLUMN_MISSING',
    },
    {
      fault: 'a name that ignores case',
      make: [...tableWith(postgresColumns, { name: 'name text collate nocase not null primary key' }), row],
      code: 'CASE_IGNORED',
      severity: 'warning',
    },
    {
      fault: 'no key',
      make: tableWith(postgresColumns, { name: 'name text not null' }),
      code: 'KEY_MISSING',
    },
    {
      fault: 'a time that may be null',
      make: tableWith(postgresColumns, { lockUntil: 'lock_until datetime' }),
      code: 'COLUMN_NULLABLE',
      severity: 'warning',
    },
  ],
}
