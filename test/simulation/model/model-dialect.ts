import { dialects, sql, type Dialect, type Statement } from '../../../src/sql'
import { pinByRead } from '../../../src/sql/fragments'

/** The databases whose ways of taking a lock are simulated. */
export const SHAPES = ['postgres', 'mysql', 'sqlite', 'oracle'] as const
export type Shape = (typeof SHAPES)[number]

/** What a server of this kind does in its own way. */
export interface Behaviour {
  /** Whether a statement that waited for a row sees the time of its beginning. */
  readonly clockOfStatement: boolean
  /** Whether a crash may undo unlocks that nothing was committed after. */
  readonly losesUnlocks: boolean
}

/**
 * The dialect of a database, with its clock and its arithmetic in the words that the model knows. Its statements, and the order in
 * which they are tried, are the database's own.
 */
export function modelDialect(shape: Shape): Dialect & Behaviour {
  const { release, upperCaseNames, ...dialect } = dialects[shape]
  return {
    ...dialect,
    quote: (identifier) => `"${identifier}"`,
    now: sql`now()`,
    plus: (time, milliseconds) => sql`plus(${time}, ${milliseconds})`,
    epoch: sql`0`,
    epochMilliseconds: (time) => time,
    text: (parameter) => parameter,
    pin: shape === 'sqlite' ? dialect.pin : pinByRead({ clause: 'for share' }),
    describe: (): Statement => DESCRIBE,
    types: { text: /^/, time: /^/ },
    clockOfStatement: shape === 'mysql' || shape === 'oracle',
    losesUnlocks: shape === 'postgres',
  }
}

/** Answered with the columns of the table. */
export const DESCRIBE = sql`describe`
