import type { Dialect, LockStatementForm } from '../dialect'
import { insertNew, lookExists, lookHeld, pinByRead, takeExpired } from '../lock-statements'
import { sql } from '../statement'

/**
 * A batch, in which at most one statement counts rows: clients report the first count.
 *
 * Without versions of rows (READ_COMMITTED_SNAPSHOT is off by default) a reader would wait behind a writer, so the looks
 * do not ask for locks. They may see what is rolled back later, and so refuse a lock that is free a moment afterwards;
 * they never give one: that is for the update and the primary key to decide. Not READPAST: error 650 in sessions that
 * are SERIALIZABLE or SNAPSHOT. Not MERGE: it needs HOLDLOCK to be safe, and then waits and deadlocks.
 */
const batch: LockStatementForm = (dialect, table) => {
  const unlocked = { ...table, table: sql`${table.table} with (nolock)` }
  return {
    kind: 'take',
    statement: sql`
      if not exists (${lookHeld(dialect, unlocked).statement})
      begin
        if exists (${lookExists(dialect, unlocked).statement}) ${takeExpired(dialect, table).statement}
        else ${insertNew(dialect, table).statement}
      end`,
  }
}

export const mssql: Dialect = {
  name: 'mssql',
  quote: (identifier) => `[${identifier.replaceAll(']', ']]')}]`,
  longestIdentifier: 128,

  // Half a millisecond less, because the cast rounds: so it cuts.
  now: sql`cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))`,
  // DATEADD takes an int, which holds 24 days of milliseconds.
  plus: (time, milliseconds) =>
    sql`dateadd(millisecond, cast(${milliseconds} % 86400000 as int), dateadd(day, cast(${milliseconds} / 86400000 as int), ${time}))`,
  epochMilliseconds: (time) => sql`datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), ${time})`,
  text: (parameter) => parameter,

  acquire: [batch],

  // A shared lock that is kept until the transaction ends, whatever the isolation level.
  pin: pinByRead({ hint: 'with (repeatableread)' }),

  // https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
  errors: {
    conflict: {
      '2627': 'violation of a PRIMARY KEY or UNIQUE constraint: another session made the row first',
      '2601': 'duplicate key in a unique index: another session made the row first',
      '1205': 'this session was chosen as the deadlock victim',
      '3960': 'update conflict: another session wrote first, under SNAPSHOT',
      '1222': 'lock request time out: LOCK_TIMEOUT is set and another session has the row',
      '601': 'the row was moved while it was read without locks',
    },
    busy: {
      '1204': 'the server has no memory left for locks at this time',
    },
  },

  ddl: {
    conditional: false,
    namedPrimaryKey: true,
    columns: {
      // Binary: `Job`, `job` and `jób` are three locks. The default collation takes at least the first two for one.
      name: 'nvarchar(64) collate Latin1_General_100_BIN2 not null',
      lockUntil: 'datetime2(3) not null',
      lockedAt: 'datetime2(3) not null',
      lockedBy: 'nvarchar(255) collate Latin1_General_100_BIN2 not null',
    },
    collation: 'Latin1_General_100_BIN2',
    alterColumn: (table, column, definition) => `alter table ${table} alter column ${column} ${definition}`,
  },

  // object_id() finds the table as a statement would: in the user's default schema, else in dbo.
  describe: (schema, table) => sql`
    select name as column_name, type_name(system_type_id) + case when scale > 0 then concat('(', scale, ')') else '' end as column_type
    from sys.columns
    where object_id = object_id(coalesce(quotename(${schema}) + '.', '') + quotename(${table}))`,
  types: {
    name: /^n?(var)?char$/,
    // Not datetime: it counts in steps of 3.3 ms. Not datetimeoffset: the zone would be lost in comparing.
    lockUntil: /^datetime2\([3-7]\)/,
    lockedAt: /^datetime2\([3-7]\)/,
    lockedBy: /^n?(var)?char$/,
  },

  inspection: {
    grantee: sql`quotename(user_name())`,
    // permission was denied on the object, on the column
    denied: ['229', '230'],
  },
}
