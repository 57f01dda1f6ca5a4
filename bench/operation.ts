import type { ServerCounters } from './server-counters'
import type { StatementShapes } from './statement-shapes'
import type { Traffic } from './wire'

/** A measured operation. All operations of one `scenario` on one database are compared with its floor. */
export interface Operation {
  readonly scenario: Scenario
  /** `floor`, `ours: TypeORM`, `verrou`, … */
  readonly who: string
  readonly run: () => Promise<unknown>
  /**
   * For an operation in another process: runs it there for this many milliseconds, and returns how many microseconds each run took.
   */
  readonly timed?: (milliseconds: number) => Promise<number[]>
}

export type Scenario =
  'read one row' | 'write one row' | 'win + release' | 'lose' | 'extend' | 'run an empty task'

/** An alternative to our lock. `close` also removes what it left behind. */
export interface Peer {
  readonly operations: Operation[]
  readonly close: () => Promise<void>
}

/** One database with our table, and the operations to measure on it. */
export interface Target {
  readonly version: string
  readonly statements: StatementShapes
  readonly operations: readonly Operation[]
  readonly server: ServerCounters
  /** The traffic so far; undefined if it is not counted. */
  readonly traffic: Traffic | undefined
  /** Runs work while another session's transaction has locked the row of the lock `held`. */
  readonly whileRowIsLocked: <T>(work: () => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}
