// The SQL that this dialect sends: test/sql/golden/cockroachdb.sql
import { readUpsert, pinByWrite } from '../../acquire'
import type { LockDialect } from '../../dialect'
import { sql } from '../../sql'
import { postgres } from '../postgres/lock'

/** CockroachDB presents itself as PostgreSQL, and its SQL differs only in the following. */
export const cockroachdb: LockDialect = {
  ...postgres,
  untried: true,

  // A float times an interval may be inexact here, so cast the result, because slots are compared with each other.
  plus: (time, milliseconds) => sql`(${postgres.plus(time, milliseconds)})::timestamp(3)`,

  // It has not run there.
  commits: undefined,
  joined: undefined,
  suspectedTransaction: undefined,

  // CockroachDB has no standbys.
  readOnly: undefined,

  acquire: readUpsert,

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
