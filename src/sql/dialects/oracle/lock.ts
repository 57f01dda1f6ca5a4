// The SQL that this dialect sends: test/sql/golden/oracle.sql
import type { LockDialect } from '../../dialect'
import { newRow, readRefusal, updateRow, pinByRead } from '../../acquire'
import { columns, type LockSql } from '../../expressions'
import { sql, type Sql } from '../../sql'

/** Inserts the row if it does not exist. If another session is about to insert it, waits for that and fails with ORA-00001. */
function insertMissing(lock: LockSql): Sql {
  const { table, isNamed } = lock
  return sql`
    insert into ${table} (${columns(lock)})
    select ${newRow(lock)} from dual
    where not exists (select 1 from ${table} where ${isNamed})`
}

export const oracle: LockDialect = {
  untried: true,
  quote: (identifier) => `"${identifier}"`,
  longestIdentifier: 128,
  // https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Database-Object-Names-and-Qualifiers.html
  notInIdentifiers: /"/,
  upperCaseNames: true,

  // The cast rounds, so subtract half a millisecond to cut instead. In UTC, whatever the session's time zone.
  now: sql`cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))`,
  // A timestamp plus a number would be a DATE, which has whole seconds.
  plus: (time, milliseconds) => sql`${time} + numtodsinterval(${milliseconds} / 1000, 'second')`,
  epoch: sql`timestamp '1970-01-01 00:00:00'`,
  epochMilliseconds: (time) => {
    const since1970 = sql`(${time} - timestamp '1970-01-01 00:00:00')`
    return sql`
      extract(day from ${since1970}) * 86400000 + extract(hour from ${since1970}) * 3600000
      + extract(minute from ${since1970}) * 60000 + extract(second from ${since1970}) * 1000`
  },
  text: (parameter) => parameter,
  from: sql`from dual`,
  readOnly: sql`case when sys_context('userenv', 'database_role') like '%STANDBY%' then 1 else 0 end`,

  // Reads do not wait here. Not one MERGE: an update that waited for a row starts again if its WHERE is no longer true, but what a
  // MERGE does then was only observed (it watches its SET columns), and is not documented.
  acquire: (lock) => [
    { answer: 'refusal', statement: readRefusal(lock) },
    { answer: 'acquired', statement: updateRow(lock) },
    { answer: 'acquired', statement: insertMissing(lock) },
  ],

  // Oracle has no shared locks on rows, so two guarded transactions of one task wait for each other.
  pin: pinByRead((lock) => sql`select 1 from ${lock.table} where ${lock.isOwnHeld} for update`),

  // https://docs.oracle.com/error-help/db/
  transientErrors: {
    'ORA-00001': 'unique constraint violated: another session inserted the row first',
    'ORA-08177': "can't serialize access: another session wrote first, under SERIALIZABLE",
    'ORA-00060': 'deadlock detected: this session was chosen to give way',
    'ORA-30006': 'resource busy, WAIT timeout expired: another session has the row',
    'ORA-00054': 'resource busy and NOWAIT: another session has the table',
  },
  readOnlyErrors: { 'ORA-16000': 'database or pluggable database open for read-only access: a standby' },
}
