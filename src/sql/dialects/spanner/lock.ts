// The SQL that this dialect sends: test/sql/golden/spanner.sql
import type { LockDialect } from '../../dialect'
import { readUpdateInsert, pinByWrite } from '../../acquire'
import { sql } from '../../sql'

/** Spanner with its own SQL dialect, GoogleSQL. TypeORM cannot reach databases with the PostgreSQL dialect. */
export const spanner: LockDialect = {
  quote: (identifier) => `\`${identifier}\``,
  longestIdentifier: 128,
  // https://cloud.google.com/spanner/docs/reference/standard-sql/lexical
  notInIdentifiers: /[^A-Za-z0-9_]/,

  now: sql`timestamp_trunc(current_timestamp(), millisecond)`,
  plus: (time, milliseconds) => sql`timestamp_add(${time}, interval ${milliseconds} millisecond)`,
  epoch: sql`timestamp_seconds(0)`,
  epochMilliseconds: (time) => sql`unix_millis(${time})`,
  text: (parameter) => parameter,

  // The read is a request of its own, without locks; every other statement begins and commits a transaction.
  acquire: readUpdateInsert,

  // Under REPEATABLE READ a read keeps no other session out, but writes are checked at the commit.
  pin: pinByWrite,

  // gRPC codes: https://cloud.google.com/spanner/docs/reference/rpc/google.rpc#google.rpc.Code
  transientErrors: {
    '10': 'ABORTED: another transaction came first, and this one was not committed',
    '6': 'ALREADY_EXISTS: another session inserted the row first',
    '8': 'RESOURCE_EXHAUSTED: a quota, or no session left',
  },
  readOnlyErrors: {},
}
