/**
 * What is wrong with a lock table.
 *
 * - `TABLE_MISSING` there is none, or this user may not see it
 * - `COLUMN_MISSING` a column is not there
 * - `COLUMN_TYPE` a type under which two could hold one lock, or a time would be rounded
 * - `COLUMN_TOO_SHORT` a text column that does not hold every name or owner
 * - `COLUMN_NULLABLE` a row without a time would be held for ever
 * - `KEY_MISSING` no primary key and no unique index is on the name alone: two rows could have one name
 * - `LOCKED_IN_FUTURE` somebody writes times of another clock or another time zone: two could hold one lock
 * - `CASE_IGNORED` names that differ in case only are one lock
 * - `PRIVILEGE_MISSING` this user may not select, insert or update
 * - `REFUSED` the database refuses a statement that the lock needs, for another reason: it may be a read-only replica
 */
export type TableFindingCode =
  | 'TABLE_MISSING'
  | 'COLUMN_MISSING'
  | 'COLUMN_TYPE'
  | 'COLUMN_TOO_SHORT'
  | 'COLUMN_NULLABLE'
  | 'KEY_MISSING'
  | 'LOCKED_IN_FUTURE'
  | 'CASE_IGNORED'
  | 'PRIVILEGE_MISSING'
  | 'REFUSED'

/** One thing that is wrong with a lock table, as `checkTable()` gives it. */
export interface TableFinding {
  readonly code: TableFindingCode
  /** `error`: locks fail, or two could hold one. `warning`: it works, and could be better. */
  readonly severity: 'error' | 'warning'
  /** What is wrong, and what to do about it. */
  readonly message: string
  /**
   * The SQL that fixes it, one statement each, without semicolons. Stop the jobs, and run the statements of all findings
   * in their order, in one session. None stands there twice, and running all of them once more changes nothing. Empty
   * where SQL cannot fix it, or where that of an earlier finding does.
   */
  readonly fix: readonly string[]
}
