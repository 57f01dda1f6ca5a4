import type { Dialect } from '../dialect'
import { pinByWrite } from '../pin'
import { sql } from '../sql'
import { describeColumns, postgres } from './postgres'

/** CockroachDB calls itself PostgreSQL, and says all of this as PostgreSQL does. */
export const cockroachdb: Dialect = {
  ...postgres,
  name: 'cockroachdb',

  // A float times an interval need not be exact here, and a slot is compared with the one before.
  plus: (time, milliseconds) => sql`(${postgres.plus(time, milliseconds)})::timestamp(3)`,

  // It has no standbys.
  readOnly: undefined,

  // It has no synchronous_commit.
  release: undefined,

  // `for share` locks nothing under SERIALIZABLE, and `for update` is a lock that may get lost; what was written is not.
  pin: pinByWrite,

  // https://www.cockroachlabs.com/docs/stable/transaction-retry-error-reference
  transientErrors: {
    ...postgres.transientErrors,
    '40001': 'RETRY_…: another transaction was faster, and the server did not restart this one by itself',
  },

  // Its transactions are serializable, and it knows no exceptions around `create table`.
  ddl: { ...postgres.ddl, createTogether: undefined },

  shape: {
    ...postgres.shape,

    // Its pg_index was not seen: whether there is a unique index is left open.
    describe: describeColumns(sql`null`),
    // Not tried.
    schemasOf: undefined,
  },

  inspection: {
    database: sql`current_database()`,
    schema: sql`current_schema()`,
    grantee: sql`quote_ident(current_user)`,
    denied: ['42501'],
  },
}
