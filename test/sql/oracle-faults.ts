import { table, tableWith, type TableFault } from './table-fault'

const oracleColumns = {
  name: 'name varchar2(64 char) not null primary key',
  lockUntil: 'lock_until timestamp(3) not null',
  lockedAt: 'locked_at timestamp(3) not null',
  lockedBy: 'locked_by varchar2(255 char) not null',
}
const oracleRow = `insert into shedlock values ('old', date '2020-01-01', date '2020-01-01', 'somebody')`
export const oracleFaults: readonly TableFault[] = [
  { fault: 'no table', make: [], code: 'TABLE_MISSING' },
  {
    fault: 'no column locked_by',
    make: [
      ...table(oracleColumns.name, oracleColumns.lockUntil, oracleColumns.lockedAt),
      `insert into shedlock values ('old', date '2020-01-01', date '2020-01-01')`,
    ],
    code: 'COLUMN_MISSING',
  },
  {
    fault: 'no column locked_at',
    make: [
      ...table(oracleColumns.name, oracleColumns.lockUntil, oracleColumns.lockedBy),
      `insert into shedlock values ('old', date '2020-01-01', 'somebody')`,
    ],
    code: 'COLUMN_MISSING',
  },
  {
    fault: 'a DATE',
    make: [...tableWith(oracleColumns, { lockUntil: 'lock_until date not null' }), oracleRow],
    code: 'COLUMN_TYPE',
  },
  {
    fault: 'no key',
    make: tableWith(oracleColumns, { name: 'name varchar2(64 char) not null' }),
    code: 'KEY_MISSING',
  },
  {
    fault: 'an owner that is too short',
    make: tableWith(oracleColumns, { lockedBy: 'locked_by varchar2(40 char) not null' }),
    code: 'COLUMN_TOO_SHORT',
  },
  {
    fault: 'a time that may be null',
    make: tableWith(oracleColumns, { lockUntil: 'lock_until timestamp(3)' }),
    code: 'COLUMN_NULLABLE',
    severity: 'warning',
  },
]
