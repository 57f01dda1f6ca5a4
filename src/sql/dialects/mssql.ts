// The SQL that this dialect sends: test/sql/golden/mssql.sql
import type { Dialect } from '../dialect'
import type { AcquireStep } from '../acquire'
import { insertNew, readOutcome, updateBeforeSlot, updateFree } from '../acquire'
import type { LockSql } from '../expressions'
import { pinByRead } from '../pin'
import { sql, type Sql } from '../sql'

/**
 * Acquires the lock in one batch, whose reads request no locks: without row versions (READ_COMMITTED_SNAPSHOT is off by default) a
 * reader would wait behind a writer. Such reads may see what is rolled back later, and so refuse a lock that is free a moment
 * afterwards, but they never acquire one, because the update and the primary key decide that. Not READPAST, which is error 650 in
 * SERIALIZABLE and SNAPSHOT sessions. Not MERGE, which needs HOLDLOCK to be safe, and then waits and deadlocks.
 */
function acquireIn({ table, isNamed }: LockSql, seen: Sql, update: Sql, insert: Sql): AcquireStep[] {
  const statement = sql`
    declare @outcome varchar(20) = (${seen});
    if @outcome = 'free'
    begin
      if exists (select 1 from ${table} with (nolock) where ${isNamed}) ${update}
      else ${insert};
      if @@rowcount > 0 set @outcome = 'acquired';
    end;
    select @outcome as outcome`
  return [{ answer: 'outcome', statement }]
}

function literal(value: string): string {
  return `N'${value.replaceAll("'", "''")}'`
}

export const mssql: Dialect = {
  name: 'mssql',
  quote: (identifier) => `[${identifier.replaceAll(']', ']]')}]`,
  longestIdentifier: 128,

  // The cast rounds, so subtract half a millisecond to cut instead.
  now: sql`cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))`,
  // DATEADD takes an int, which holds only 24 days of milliseconds.
  plus: (time, milliseconds) =>
    sql`dateadd(millisecond, cast(${milliseconds} % 86400000 as int), dateadd(day, cast(${milliseconds} / 86400000 as int), ${time}))`,
  epoch: sql`cast('1970-01-01' as datetime2(3))`,
  epochMilliseconds: (time) => sql`datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), ${time})`,
  text: (parameter) => parameter,
  readOnly: sql`case when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1 else 0 end`,

  acquire: (dialect, lock) => {
    const { table, lockUntil, isNamed, now } = lock
    const seen = sql`
      case when exists (select 1 from ${table} with (nolock) where ${isNamed} and ${lockUntil} > ${now}) then 'held' else 'free' end`
    return acquireIn(lock, seen, updateFree(dialect, lock), insertNew(lock, lock.now))
  },
  acquireSlot: (dialect, lock) => {
    const seen = readOutcome(dialect, { ...lock, table: sql`${lock.table} with (nolock)` })
    return acquireIn(lock, seen, updateBeforeSlot(lock), insertNew(lock, lock.slot))
  },

  // Clients report the first count, which may be that of a trigger, and none under NOCOUNT. @@rowcount is always that of the
  // statement itself. https://learn.microsoft.com/sql/t-sql/functions/rowcount-transact-sql
  counted: (write) => sql`${write}; select @@rowcount as changed`,

  // The lock lasts until the transaction ends, whatever the isolation level; under SNAPSHOT, a row that has changed since is an
  // error (3960). No shared lock is documented to do that, so two guarded transactions of one task wait for each other.
  // https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table
  pin: pinByRead({ hint: 'with (updlock)' }),

  // https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
  transientErrors: {
    '2627': 'violation of a PRIMARY KEY or UNIQUE constraint: another session inserted the row first',
    '2601': 'duplicate key in a unique index: another session inserted the row first',
    '3960': 'update conflict: another session wrote first, under SNAPSHOT',
    '601': 'the row was moved while it was read without locks',
    // With severity 21 the database is damaged, and the error is not an answer (see drivers).
    '605': 'the page was moved while it was read without locks',
    '1205': 'this session was chosen as the deadlock victim',
    '1222': 'lock request time out: LOCK_TIMEOUT is set and another session has the row',
    '1204': 'the server has no memory left for locks at this time',
    // Azure SQL: https://learn.microsoft.com/dotnet/api/microsoft.data.sqlclient.sqlconfigurableretryfactory
    '40501': 'the service is busy: retry after ten seconds',
    '40613': 'the database is not available at this time',
    '10928': 'a limit of the database is reached: workers, sessions',
    '10929': 'the server is too busy for more than the guaranteed minimum',
    '49918': 'not enough resources for the request',
    '49919': 'too many creations and updates of the subscription are in progress',
    '49920': 'too many operations of the subscription are in progress',
  },
  readOnlyErrors: {
    '3906': 'the database is read-only',
    // During the failover of an availability group.
    '976': 'the database of this replica cannot be queried at this time',
    '978': 'this replica only accepts connections that declare that they only read',
    '983': 'this replica is about to become the primary or a secondary',
  },

  ddl: {
    conditional: false,
    namedPrimaryKey: true,
    // Binary, so that `Job`, `job` and `jób` are three locks. Under the default collation, at least the first two would be one.
    text: (length) => `nvarchar(${length}) collate Latin1_General_100_BIN2`,
    time: 'datetime2(3)',
    collation: 'Latin1_General_100_BIN2',
    alterColumn: (table, column, type) => `alter table ${table} alter column ${column} ${type} not null`,
    // The server refuses to alter the column while a key depends on it (errors 5074 and 4922), and only the server knows the keys.
    // If another column has the primary key, its name is often the one that ours would have, and an index of the same table cannot
    // have that name too (error 1913).
    alterKey: (table, column, type, { primaryKey, index }) => [
      `declare @drop nvarchar(max) = N''
select @drop += case when 1 in (i.is_primary_key, i.is_unique_constraint) then N'alter table ' + ${literal(table)} + N' drop constraint ' + quotename(i.name)
  else N'drop index ' + quotename(i.name) + N' on ' + ${literal(table)} end + N'; '
  from sys.indexes i join sys.index_columns c on c.object_id = i.object_id and c.index_id = i.index_id
  where i.object_id = object_id(${literal(table)}) and i.is_unique = 1 and c.key_ordinal > 0
    and quotename(col_name(c.object_id, c.column_id)) = ${literal(column)}
exec (@drop)`,
      `alter table ${table} alter column ${column} ${type} not null`,
      `if exists (select 1 from sys.key_constraints where type = 'PK' and parent_object_id = object_id(${literal(table)}))
  create unique index ${index} on ${table} (${column})
else alter table ${table} add constraint ${primaryKey} primary key (${column})`,
    ],
    // EXEC runs it in a batch of its own, because it must be the first statement of a batch.
    createSchema: (schema) =>
      `if not exists (select 1 from sys.schemas where quotename(name) = ${literal(schema)}) exec (${literal(`create schema ${schema}`)})`,
  },

  shape: {
    // object_id() finds the table as a statement would: in the user's default schema, or else in dbo.
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
            where o.object_id = i.object_id and o.index_id = i.index_id and o.key_ordinal > 1)) as unique_keys,
      object_schema_name(c.object_id) as table_schema
    from sys.columns c
    where c.object_id = object_id(coalesce(quotename(${schema}) + '.', '') + quotename(${table}))`,
    schemasOf: (table) => sql`
    select object_schema_name(t.object_id) as table_schema from sys.tables t where t.name = ${table} order by table_schema`,
    // Not datetime, which counts in steps of 3.3 ms. Not datetimeoffset, whose zone would be lost in comparisons.
    types: { text: /^n?(var)?char$/, time: /^datetime2\([3-7]\)/ },
    doubtfulType: {
      pattern: /^(var)?char$/,
      why: "which stores characters outside its code page as '?', so that a lock with such a name is never found again and is held for ever",
    },
  },

  inspection: {
    server: sql`@@servername`,
    database: sql`db_name()`,
    schema: sql`schema_name()`,
    grantee: sql`quotename(user_name())`,
    // permission was denied on the object, on the column
    denied: ['229', '230'],
  },
}
