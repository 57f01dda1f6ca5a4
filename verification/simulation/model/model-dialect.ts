import { dialects } from '../../../src/sql/dialects'
import type { Dialect } from '../../../src/sql/dialect'
import { sql, type Sql } from '../../../src/sql/sql'
import { pinByRead } from '../../../src/sql/acquire'

/** The databases whose lock statements are simulated. */
export const SHAPES = ['postgres', 'mysql', 'sqlite', 'oracle'] as const
export type Shape = (typeof SHAPES)[number]

/** Behaviour in which these servers differ. */
export interface Behaviour {
  /** Whether a statement that has waited for a row still uses the time at which it began. */
  readonly clockOfStatement: boolean
}

/** Returns whether the statement's commit does not wait for the disk. */
export function isNotSynced({ pieces }: Sql): boolean {
  return pieces.some((piece) => piece.includes('synchronous_commit'))
}

/**
 * Returns a database's dialect with the expressions of SQLite, which runs it, and with a simulated clock. The statements, and the
 * order in which they are tried, are the database's own.
 */
export function modelDialect(shape: Shape): Dialect & Behaviour {
  const { upperCaseNames, joined, ...dialect } = dialects[shape]
  const { engineOf, isInTransaction, failsInTransaction, lockedByOthers, ...table } = dialect.table
  const { sqlite } = dialects
  delete dialect.hex
  return {
    ...dialect,
    quote: (identifier) => `"${identifier}"`,
    now: sql`now()`,
    plus: (time, milliseconds) => sqlite.plus(time, milliseconds),
    epoch: sqlite.epoch,
    epochMilliseconds: (time) => sqlite.epochMilliseconds(time),
    text: (parameter) => parameter,
    readOnly: dialect.readOnly && sql`read_only()`,
    commits: dialect.commits && sql`1 = 1`,
    unfit: dialect.unfit && sql`0`,
    pin:
      shape === 'sqlite'
        ? dialect.pin
        : pinByRead((lock) => sql`select 1 from ${lock.table} where ${lock.isOwnHeld} for share`),
    table: {
      ...table,
      describe: DESCRIBE,
      types: { text: /^/, time: /^/ },
      // Nobody locks the whole table here.
      ...(lockedByOthers && { lockedByOthers: sql`select 1 where 1 = 0` }),
    },
    clockOfStatement: shape === 'mysql' || shape === 'oracle',
  }
}

/** A statement that the model answers with the columns of the table. */
export const DESCRIBE = sql`describe`
