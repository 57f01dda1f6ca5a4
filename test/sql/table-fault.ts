import type { TableFindingCode } from '../../src/sql'

/** A lock table that somebody made by hand. */
export interface TableFault {
  readonly fault: string
  readonly make: readonly string[]
  readonly code: TableFindingCode
  readonly severity?: 'error' | 'warning'
}

/** Makes a lock table of these columns. */
export const table = (...columns: string[]): string[] => [`create table shedlock (${columns.join(', ')})`]

type Columns = Readonly<Record<'name' | 'lockUntil' | 'lockedAt' | 'lockedBy', string>>

/** The same, with some of the columns changed. */
export const tableWith = (columns: Columns, changed: Partial<Columns>): string[] =>
  table(...Object.values({ ...columns, ...changed }))

/** A row, in the words of all but Oracle. */
export const row = `insert into shedlock values ('old', '2020-01-01 00:00:00', '2020-01-01 00:00:00', 'somebody')`
