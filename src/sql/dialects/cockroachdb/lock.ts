// The SQL that this dialect sends: test/sql/golden/cockroachdb.sql
import { readOutcome, takeBeforeSlot, takeFree, upsert, pinByWrite } from '../../acquire'
import type { LockDialect } from '../../dialect'
import { COLUMN } from '../../results'
import { raw, sql } from '../../sql'
import { postgres } from '../postgres/lock'

/** CockroachDB presents itself as PostgreSQL, and its SQL differs only in the following. */
export const cockroachdb: LockDialect = {
  ...postgres,
  untried: true,

  // A float times an interval may be inexact here, so cast the result, because slots are compared with each other.
  plus: (time, milliseconds) => sql`(${postgres.plus(time, milliseconds)})::timestamp(3)`,

  // It has not run there.
  commits: undefined,
  suspectedTransaction: undefined,

  // CockroachDB has no standbys.
  readOnly: undefined,

  // If the row is held, the statement only reads. A plain upsert locks the row even if it loses, and costs a transaction id, WAL
  // and a flush (measured on PostgreSQL 15: 96 bytes and twice the time).
  acquire: (dialect, lock) => {
    const { table, lockUntil, lockedBy, lockName, isNamed, now, leaseEnd, owner } = lock
    const values = sql`
      select ${lockName}, ${leaseEnd}, ${now}, ${owner}
      where not exists (
        select 1 from ${table} where ${isNamed} and ${lockUntil} > ${now} and not ${lockedBy} = ${owner})`
    const statement = upsert(lock, values, (row) => takeFree(dialect, lock, row))
    return [{ answer: 'acquired or held', statement }]
  },
  // Also returns why it changed nothing.
  acquireSlot: (dialect, lock) => {
    const { lockName, leaseEnd, slot, owner } = lock
    const outcome = raw(dialect.quote(COLUMN.outcome))
    const values = sql`
      select ${lockName}, ${leaseEnd}, ${slot}, ${owner} from shedlock_seen where ${outcome} = 'free'`
    const statement = sql`
      with shedlock_seen as (${readOutcome(dialect, lock)}),
      shedlock_acquired as (${upsert(lock, values, (row) => takeBeforeSlot(dialect, lock, row))}
        returning 1)
      select case when exists (select 1 from shedlock_acquired) then 'acquired' else ${outcome} end as ${outcome} from shedlock_seen`
    return [{ answer: 'outcome', statement }]
  },

  // CockroachDB has no synchronous_commit. Whether it evaluates `skip locked` before the update was not tried, so its updates wait.
  update: undefined,
  rowIfUnlocked: undefined,

  // `for share` locks nothing under SERIALIZABLE, and a lock by `for update` may be lost, but a write is not.
  pin: pinByWrite,

  // https://www.cockroachlabs.com/docs/stable/transaction-retry-error-reference
  transientErrors: {
    ...postgres.transientErrors,
    '40001': 'RETRY_…: another transaction was faster, and the server did not restart this one by itself',
  },
}
