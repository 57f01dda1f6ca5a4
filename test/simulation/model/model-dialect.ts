import { dialects, sql, type Dialect, type Sql } from '../../../src/sql/internal'
import { pinByRead } from '../../../src/sql/pin'

/** The databases whose ways of taking a lock are simulated. */
export const SHAPES = ['postgres', 'mysql', 'sqlite', 'oracle'] as const
export type Shape = (typeof SHAPES)[number]

/** What a server of this kind does in its own way. */
export interface Behaviour {
  /** Whether a statement that waited for a row sees the time of its beginning. */
  readonly clockOfStatement: boolean
}

/** Begins a release that a crash may undo, until something else is committed. */
const NOT_SYNCED = sql`with shedlock_commit as (select 'off' as shedlock_synchronous)`

/** Whether the commit of this statement does not wait for the disk. */
export function isNotSynced({ pieces }: Sql): boolean {
  return pieces[0]?.startsWith(`${NOT_SYNCED.pieces[0]} `) === true
}

/**
 * The dialect of a database, with its clock and its arithmetic in the words that the model knows. Its statements, and the order in
 * which they are tried, are the database's own.
 */
export function modelDialect(shape: Shape): Dialect & Behaviour {
  const { upperCaseNames, ...dialect } = dialects[shape]
  delete dialect.hex
  return {
    ...dialect,
    quote: (identifier) => `"${identifier}"`,
    now: sql`now()`,
    plus: (time, milliseconds) => sql`plus(${time}, ${milliseconds})`,
    epoch: sql`0`,
    epochMilliseconds: (time) => time,
    text: (parameter) => parameter,
    readOnly: dialect.readOnly && sql`read_only()`,
    release:
      dialect.release &&
      ((table, assignments, condition) =>
        sql`${NOT_SYNCED} update ${table} set ${assignments} where ${condition}`),
    pin: shape === 'sqlite' ? dialect.pin : pinByRead({ clause: 'for share' }),
    shape: { describe: () => DESCRIBE, types: { text: /^/, time: /^/ } },
    clockOfStatement: shape === 'mysql' || shape === 'oracle',
  }
}

/** Answered with the columns of the table. */
export const DESCRIBE = sql`describe`
