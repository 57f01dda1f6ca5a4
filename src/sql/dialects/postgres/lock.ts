// The SQL that this dialect sends: test/sql/golden/postgres.sql
import type { LockDialect } from '../../dialect'
import { type AcquireStep, isTooFarAhead, newRow, readOutcome, take, pinByRead } from '../../acquire'
import { columns, type LockSql } from '../../expressions'
import { IN_TRANSACTION } from '../../database-errors'
import { COLUMN } from '../../results'
import { raw, sql, type Sql } from '../../sql'

const HAS_NOT_WRITTEN = sql`pg_catalog.txid_current_if_assigned() is null`

/**
 * An error if the app may have left a transaction open, whose rollback would undo the write: it has written, or has lasted for longer
 * than it takes to plan a statement. So has one of our own that waited for a lock on the table while it was planned: the transaction
 * began before. Only that of the app fails the next statement, too. The error is that of a cast, because its message then says why. A
 * query, because it must not be evaluated again when the row turns out to have changed: the statement itself has begun to write then.
 */
const COMMITS = sql`(select case when ${HAS_NOT_WRITTEN}
  and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second'
  then true else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)`

/**
 * A condition of a write: whether no other session has locked the row. Its lock is the one that an update takes. Unlike `nowait`, it is
 * no error, after which pg's pool closes the connection.
 */
const isUnlocked = ({ table, isNamed }: LockSql): Sql =>
  sql`exists (select 1 from (select 1 from ${table} where ${isNamed} for no key update skip locked) shedlock_row)`

/**
 * A condition that is true, and changes a setting for the statement alone: `true` ends it with the transaction, so the session is left as
 * it was, even behind a pooler.
 */
const setting = (name: string, value: string): Sql =>
  raw(`set_config('${name}', '${value}', true) is not null`)

/**
 * Acquires the row if it exists, or returns why not. If the row is held, the statement only reads: an upsert locks the row even if it
 * loses, and costs a transaction id, WAL and a flush (measured on PostgreSQL 15: 96 bytes and twice the time). `case`, because only a row
 * that can be acquired may be locked, and because nothing may be written before the session is known to commit it.
 *
 * If there is no row, the next step inserts it. Only this can wait, while another session has inserted the row and not committed it: the
 * server ends the wait (55P03).
 */
function acquire(lock: LockSql): AcquireStep[] {
  const { table, isNamed, commits, name, slot } = lock
  const { assignments, condition } = take(lock)
  const isSoon = slot ? sql` and not ${isTooFarAhead(lock, slot)}` : sql``
  const acquired = sql`when case when 1 = 1${commits} then exists (select 1 from shedlock_acquired) end then 'acquired'`
  const otherwise = sql`case when count(*) > 0 then 'free' end`
  const update = sql`
    with shedlock_acquired as (update ${table} set ${assignments}
      where ${isNamed} and case when ${condition}${isSoon} then ${isUnlocked(lock)} else 1 = 0 end
      returning 1)
    ${slot ? readOutcome(lock, { first: acquired, otherwise }) : readWhetherHeld(lock, acquired)}`
  const insert = sql`
    insert into ${table} (${columns(lock)})
    select ${newRow(lock)} where ${setting('lock_timeout', '100')}${commits}
    on conflict (${name}) do nothing`
  return [
    { answer: 'outcome of a row', statement: update },
    { answer: 'acquired', statement: insert },
  ]
}

/** Returns no row if there is none. Aggregates would return one, but planning them costs a tenth of the statement. */
function readWhetherHeld(lock: LockSql, acquired: Sql): Sql {
  const { table, lockUntil, lockedBy, isNamed, now, owner } = lock
  return sql`
    select case ${acquired} when ${lockUntil} > ${now} and (${lockedBy} = ${owner}) is not true then 'held'
      else 'free' end as ${raw(COLUMN.outcome)}
    from ${table} where ${isNamed}`
}

export const postgres: LockDialect = {
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 63,

  // Not now(), which is when the transaction began: clock_timestamp() is when the row is written. With their schema, because a
  // search path may begin with functions of the same names, as tests use them to stop the clock.
  now: sql`pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')`,
  plus: (time, milliseconds) => sql`${time} + ${milliseconds}::float8 * interval '1 millisecond'`,
  // Without names, planning a statement is most of its cost.
  later: (one, other) => sql`greatest(${one}, ${other})`,
  epoch: sql`timestamp '1970-01-01'`,
  // Limits the time, because infinity is not a number, and a `Date` cannot hold the last years of the calendar.
  epochMilliseconds: (time) =>
    sql`round(extract(epoch from least(greatest(${time}, timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint`,
  // Without the cast: error 42P08, could not determine data type of parameter.
  text: (parameter) => sql`${parameter}::varchar`,
  hex: (text) => sql`encode(convert_to(${text}, 'UTF8'), 'hex')`,
  readOnly: sql`pg_is_in_recovery()::int`,
  commits: COMMITS,
  joined: sql`case when ${HAS_NOT_WRITTEN} then 0 else ${raw(String(IN_TRANSACTION))} end`,
  inTransactionError: '25P02', // in_failed_sql_transaction
  suspectedTransaction: /^22P02[^]*"open transaction, or /,

  acquire,

  // The commit of an update that may be lost does not wait for the disk or for a replica.
  // https://www.postgresql.org/docs/current/wal-async-commit.html
  update: (lock, { assignments, condition, mayBeLost }) =>
    sql`update ${lock.table} set ${assignments} where ${condition} and ${isUnlocked(lock)}${mayBeLost ? sql` and ${setting('synchronous_commit', 'off')}` : sql``}`,
  rowIfUnlocked: (lock) => sql`select 1 as shedlock_one where ${isUnlocked(lock)}`,

  // The weakest row lock that blocks the UPDATE of a successor; transactions of one holder can share it.
  pin: pinByRead(
    (lock) => sql`select ${idleNoLongerThanLease(lock)} from ${lock.table} where ${lock.isOwnHeld} for share`,
  ),

  // https://www.postgresql.org/docs/current/errcodes-appendix.html
  transientErrors: {
    '23505': 'unique_violation: another session inserted the row first (only without ON CONFLICT)',
    '40001': 'serialization_failure: another session wrote first, under REPEATABLE READ or SERIALIZABLE',
    '40P01': 'deadlock_detected: this session was chosen to give way',
    '55P03': 'lock_not_available: another session keeps the row or the table',
    '53300': 'too_many_connections: the server, the database or this user has no room for another connection',
    '25P04': 'transaction_timeout: it is set (PostgreSQL 17), and shorter than our wait for the table',
    '57014': 'query_canceled: statement_timeout is set, or an operator has cancelled the statement',
  },
  readOnlyErrors: {
    '25006': 'read_only_sql_transaction: a standby, a former primary, or default_transaction_read_only',
  },
}

/**
 * Makes the server end the transaction if it is idle at the end of the lease. Otherwise a suspended or disconnected process would
 * pin the row until TCP gives up, hours later. A shorter timeout of the session is kept, and the setting ends with the transaction.
 */
function idleNoLongerThanLease({ lockUntil, now }: LockSql): Sql {
  return sql`set_config('idle_in_transaction_session_timeout', least(
    ceil(extract(epoch from ${lockUntil} - ${now}) * 1000), 2147483647,
    (select nullif(setting::int, 0) from pg_catalog.pg_settings where name = 'idle_in_transaction_session_timeout')
  )::bigint::text, true)`
}
