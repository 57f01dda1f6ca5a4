// The SQL that this dialect sends: test/sql/golden/hana.sql
import type { LockDialect } from '../../dialect'
import { readUpdateInsert, pinByRead } from '../../acquire'
import { sql } from '../../sql'

/**
 * SAP HANA, according to its documentation:
 * https://help.sap.com/docs/hana-cloud-database/sap-hana-cloud-sap-hana-database-sql-reference-guide
 */
export const hana: LockDialect = {
  untried: true,
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 127,
  upperCaseNames: true,

  // The argument cuts the time to milliseconds. In UTC, whatever the server's time zone.
  now: sql`current_utctimestamp(3)`,
  // The unit is 100 nanoseconds.
  plus: (time, milliseconds) => sql`add_nano100(${time}, cast(${milliseconds} as bigint) * 10000)`,
  epoch: sql`to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')`,
  epochMilliseconds: (time) => sql`
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), ${time}) / 10000 as bigint)`,
  text: (parameter) => sql`cast(${parameter} as nvarchar(255))`,
  from: sql`from dummy`,

  // Reads set no locks here. Each step is a statement of its own, and the update decides under the row's lock.
  acquire: readUpdateInsert,

  pin: pinByRead((lock) => sql`select 1 from ${lock.table} where ${lock.isOwnHeld} for update`),

  // https://help.sap.com/docs/hana-cloud-database/sap-hana-cloud-sap-hana-database-sql-reference-guide/sql-error-codes
  transientErrors: {
    '301': 'unique constraint violated: another session inserted the row first',
    '144': 'transaction rolled back by a unique constraint: another session inserted the row first',
    '138': 'transaction serialization failure: another session wrote first',
    '143': 'transaction serialization failure until timeout expires: another session wrote first',
    '146': 'resource busy and NOWAIT specified: another session has the row',
    '133': 'transaction rolled back by detected deadlock: this session was chosen to give way',
    '131': 'transaction rolled back by lock wait timeout: another session has the row',
    '142': 'too many concurrent transactions',
    '1038': 'rejected because the server is overloaded for the moment',
  },
  readOnlyErrors: {},
}
