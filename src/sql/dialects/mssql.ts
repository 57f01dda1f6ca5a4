import { either, insertNew, rowExists, takeExpired } from '../acquire-forms'
import type { Claim, Dialect, LockStatementForm } from '../dialect'
import type { LockTable } from '../lock-table'
import { pinByRead } from '../pin-forms'
import { sql, type Statement } from '../statement'

/**
 * One batch, which tells by itself how many rows it changed.
 *
 * Without versions of rows (READ_COMMITTED_SNAPSHOT is off by default) a reader would wait behind a writer, so the looks
 * do not ask for locks. They may see what is rolled back later, and so refuse a lock that is free a moment afterwards;
 * they never give one: that is for the update and the primary key to decide. Not READPAST: error 650 in sessions that
 * are SERIALIZABLE or SNAPSHOT. Not MERGE: it needs HOLDLOCK to be safe, and then waits and deadlocks.
 */
const batch: LockStatementForm = (dialect, table, claim) => {
  return {
    kind: 'take',
    statement: sql`
      declare @changed int = 0;
      if not exists (${claim.look(dialect, unlocked(table))})
      begin
        ${takeOrInsert(dialect, table, claim)};
        set @changed = @@rowcount;
      end;
      select @changed as changed`,
  }
}

/** The same for a slot: it tells why it took nothing. */
const decidingBatch: LockStatementForm = (dialect, table, claim) => ({
  kind: 'decide',
  statement: sql`
    declare @outcome varchar(20) = (${claim.look(dialect, unlocked(table))});
    if @outcome = 'free'
    begin
      ${takeOrInsert(dialect, table, claim)};
      if @@rowcount > 0 set @outcome = 'taken';
    end;
    select @outcome as outcome`,
})

function takeOrInsert(dialect: Dialect, table: LockTable, claim: Claim): Statement {
  return sql`
    if exists (${rowExists(dialect, unlocked(table))}) ${takeExpired(dialect, table, claim).statement}
    else ${insertNew(dialect, table, claim).statement}`
}

function unlocked(table: LockTable): LockTable {
  return { ...table, table: sql`${table.table} with (nolock)` }
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
  epoch: sql`cast('1970-01-01' as datetime2(3))`,
  epochMilliseconds: (time) => sql`datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), ${time})`,
  text: (parameter) => parameter,

  acquire: [either(batch, decidingBatch)],

  // Clients report the first count: a trigger's, if there is one, and none under NOCOUNT. @@rowcount is that of the
  // statement itself in both cases. https://learn.microsoft.com/sql/t-sql/functions/rowcount-transact-sql
  counted: (write) => sql`${write}; select @@rowcount as changed`,

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
      // Azure SQL: https://learn.microsoft.com/dotnet/api/microsoft.data.sqlclient.sqlconfigurableretryfactory
      '40501': 'the service is busy: it asks to come back in ten seconds',
      '40613': 'the database is not available at this time',
      '10928': 'a limit of the database is reached: workers, sessions',
      '10929': 'the server is too busy for more than the guaranteed minimum',
      '49918': 'not enough resources for the request',
      '49919': 'too many creations and updates of the subscription are in progress',
      '49920': 'too many operations of the subscription are in progress',
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
    // Refused while a key depends on it: errors 5074 and 4922. What the key is called, only the server knows.
    alterKey: (table, column, definition, key) => [
      `declare @drop nvarchar(max) = (select N'alter table ' + N'${table.replaceAll("'", "''")}' + N' drop constraint ' + quotename(name)
  from sys.key_constraints where type = 'PK' and parent_object_id = object_id(N'${table.replaceAll("'", "''")}'))
exec (@drop)`,
      `alter table ${table} alter column ${column} ${definition}`,
      `alter table ${table} add constraint ${key} primary key (${column})`,
    ],
  },

  // object_id() finds the table as a statement would: in the user's default schema, else in dbo.
  describe: (schema, table) => sql`
    select c.name as column_name,
      type_name(c.system_type_id) + case when c.scale > 0 then concat('(', c.scale, ')') else '' end as column_type,
      case when c.max_length > 0 and type_name(c.system_type_id) like 'n%' then c.max_length / 2 else c.max_length end as max_length,
      cast(c.is_nullable as int) as nullable,
      case when @@options & 2 = 2 then 0 else 1 end as autocommit,
      (select count(*) from sys.indexes i
        where i.object_id = c.object_id and i.is_unique = 1 and i.is_disabled = 0 and i.has_filter = 0
          and exists (
            select 1 from sys.index_columns k
            where k.object_id = i.object_id and k.index_id = i.index_id and k.key_ordinal = 1 and k.column_id = c.column_id)
          and not exists (
            select 1 from sys.index_columns o
            where o.object_id = i.object_id and o.index_id = i.index_id and o.key_ordinal > 1)) as unique_keys
    from sys.columns c
    where c.object_id = object_id(coalesce(quotename(${schema}) + '.', '') + quotename(${table}))`,
  types: {
    name: /^n?(var)?char$/,
    // Not datetime: it counts in steps of 3.3 ms. Not datetimeoffset: the zone would be lost in comparing.
    lockUntil: /^datetime2\([3-7]\)/,
    lockedAt: /^datetime2\([3-7]\)/,
    lockedBy: /^n?(var)?char$/,
  },
  doubtfulTypes: [
    {
      pattern: /^(var)?char$/,
      why: "which stores characters outside its code page as '?': a lock with such a name is never found again and is held for ever",
    },
  ],

  inspection: {
    grantee: sql`quotename(user_name())`,
    // permission was denied on the object, on the column
    denied: ['229', '230'],
  },
}
