// The SQL that this dialect sends: test/sql/golden/sqlite.sql
import type { LockDialect } from '../../dialect'
import { readUpsert, pinByWrite } from '../../acquire'
import { sql } from '../../sql'

export const sqlite: LockDialect = {
  quote: (identifier) => `"${identifier.replaceAll('"', '""')}"`,
  longestIdentifier: 255,

  // Strings of a fixed width, so that comparing strings compares times. TypeORM and Prisma both read this format as a date.
  now: sql`strftime('%Y-%m-%d %H:%M:%f', 'now')`,
  plus: (time, milliseconds) =>
    sql`strftime('%Y-%m-%d %H:%M:%f', ${time}, (${milliseconds} / 1000.0) || ' seconds')`,
  epoch: sql`'1970-01-01 00:00:00.000'`,
  epochMilliseconds: (time) => sql`cast(round((julianday(${time}) - 2440587.5) * 86400000) as integer)`,
  text: (parameter) => parameter,

  // A write waits for every other writer of the file; a read does not wait. Never begin a transaction with a read, because its
  // write would fail with SQLITE_BUSY_SNAPSHOT, whatever the timeout.
  acquire: readUpsert,

  // A transaction that has written is the only writer of the file until it ends.
  pin: pinByWrite,

  // https://www.sqlite.org/rescode.html
  transientErrors: {
    SQLITE_CONSTRAINT_PRIMARYKEY: 'another connection inserted the row first (only without ON CONFLICT)',
    SQLITE_CONSTRAINT_UNIQUE: 'another connection inserted the row first (only without ON CONFLICT)',
    SQLITE_BUSY: 'another connection writes to the file',
    SQLITE_BUSY_SNAPSHOT: 'another connection wrote after this one had read',
    SQLITE_BUSY_RECOVERY: 'another connection recovers the write-ahead log',
    SQLITE_LOCKED: 'another statement of a shared cache uses the table',
    SQLITE_LOCKED_SHAREDCACHE: 'another connection of a shared cache uses the table',
  },
  readOnlyErrors: {},
}
