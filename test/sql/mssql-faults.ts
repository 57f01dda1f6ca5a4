import { row, table, tableWith, type TableFault } from './table-fault'

const mssqlColumns = {
  name: 'name nvarchar(64) collate Latin1_General_100_BIN2 not null primary key',
  lockUntil: 'lock_until datetime2(3) not null',
  lockedAt: 'locked_at datetime2(3) not null',
  lockedBy: 'locked_by nvarchar(255) not null',
}
const keylessName = mssqlColumns.name.replace(' primary key', '')
export const mssqlFaults: readonly TableFault[] = [
  { fault: 'no table', make: [], code: 'TABLE_MISSING' },
  {
    fault: 'no column locked_by',
    make: [
      ...table(mssqlColumns.name, mssqlColumns.lockUntil, mssqlColumns.lockedAt),
      `insert into shedlock values ('old', sysutcdatetime(), sysutcdatetime())`,
    ],
    code: 'COLUMN_MISSING',
  },
  {
    fault: 'a datetime',
    make: [...tableWith(mssqlColumns, { lockUntil: 'lock_until datetime not null' }), row],
    code: 'COLUMN_TYPE',
  },
  {
    fault: 'a time without milliseconds',
    make: [...tableWith(mssqlColumns, { lockUntil: 'lock_until datetime2(0) not null' }), row],
    code: 'COLUMN_TYPE',
  },
  {
    fault: 'a varchar name',
    make: [...tableWith(mssqlColumns, { name: mssqlColumns.name.replace('nvarchar', 'varchar') }), row],
    code: 'COLUMN_TYPE',
    severity: 'warning',
  },
  {
    fault: 'a name that ignores case',
    make: [...tableWith(mssqlColumns, { name: mssqlColumns.name.replace('100_BIN2', 'CI_AS') }), row],
    code: 'CASE_IGNORED',
    severity: 'warning',
  },
  { fault: 'no key', make: tableWith(mssqlColumns, { name: keylessName }), code: 'KEY_MISSING' },
  {
    fault: 'a key for some rows only',
    make: [
      ...tableWith(mssqlColumns, { name: keylessName }),
      `create unique index some_rows on shedlock (name) where name <> 'job'`,
    ],
    code: 'KEY_MISSING',
  },
  {
    fault: 'the primary key of another column',
    make: [
      ...tableWith(mssqlColumns, { name: keylessName }),
      'alter table shedlock add id int identity primary key',
    ],
    code: 'KEY_MISSING',
  },
  {
    fault: 'a unique name that is too short, beside another primary key',
    make: [
      ...tableWith(mssqlColumns, {
        name: 'name nvarchar(20) collate Latin1_General_100_BIN2 not null unique',
      }),
      'alter table shedlock add id int identity primary key',
    ],
    code: 'COLUMN_TOO_SHORT',
  },
  {
    fault: 'a time that may be null',
    make: tableWith(mssqlColumns, { lockUntil: 'lock_until datetime2(3) null' }),
    code: 'COLUMN_NULLABLE',
    severity: 'warning',
  },
]
