// The SQL that this dialect sends: test/sql/golden/mssql.sql
import type { LockDialect } from '../../dialect'
import { insertNew, pinByRead, readOutcome, updateRow, type AcquireStep } from '../../acquire'
import type { LockSql } from '../../expressions'
import { COLUMN } from '../../results'
import { raw, sql, type Sql } from '../../sql'

/** Error 1222 at once, where a statement would wait for a lock. https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table */
const unwaiting = (table: Sql): Sql => sql`${table} with (nowait)`

/**
 * Acquires the lock in one batch, whose reads request no locks: without row versions (READ_COMMITTED_SNAPSHOT is off by default) a
 * reader would wait behind a writer. Such reads may see what is rolled back later, and so refuse a lock that is free a moment
 * afterwards, but they never acquire one, because the update and the primary key decide that. Not READPAST, which is error 650 in
 * SERIALIZABLE and SNAPSHOT sessions. Not MERGE, which needs HOLDLOCK to be safe, and then waits and deadlocks.
 */
function acquire(lock: LockSql): AcquireStep[] {
  const { table, isNamed } = lock
  const unlocked = sql`${table} with (nolock)`
  const statement = sql`
    declare @outcome varchar(20) = (${readOutcome({ ...lock, table: unlocked })});
    if @outcome = 'free'
    begin
      if exists (select 1 from ${unlocked} where ${isNamed}) ${updateRow(lock)}
      else ${insertNew({ ...lock, table: unwaiting(table) })};
      if @@rowcount > 0 set @outcome = 'acquired';
    end;
    select @outcome as ${raw(COLUMN.outcome)}`
  return [{ answer: 'outcome', statement }]
}

export const mssql: LockDialect = {
  untried: true,
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

  acquire,

  update: ({ table }, { assignments, condition }) =>
    sql`update ${unwaiting(table)} set ${assignments} where ${condition}`,

  // Clients report the first count, which may be that of a trigger, and none under NOCOUNT. @@rowcount is always that of the
  // statement itself. https://learn.microsoft.com/sql/t-sql/functions/rowcount-transact-sql
  counted: (write) => sql`${write}; select @@rowcount as ${raw(COLUMN.changed)}`,

  // The lock lasts until the transaction ends, whatever the isolation level; under SNAPSHOT, a row that has changed since is an
  // error (3960). No shared lock is documented to do that, so two guarded transactions of one task wait for each other.
  // https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table
  pin: pinByRead((lock) => sql`select 1 from ${lock.table} with (updlock) where ${lock.isOwnHeld}`),

  // https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors
  transientErrors: {
    '2627': 'violation of a PRIMARY KEY or UNIQUE constraint: another session inserted the row first',
    '2601': 'duplicate key in a unique index: another session inserted the row first',
    '3960': 'update conflict: another session wrote first, under SNAPSHOT',
    '601': 'the row was moved while it was read without locks',
    // With severity 21 the database is damaged, and the error is not an answer (see drivers).
    '605': 'the page was moved while it was read without locks',
    '1205': 'this session was chosen as the deadlock victim',
    '1222': 'lock request time out: another session has the row',
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
}
