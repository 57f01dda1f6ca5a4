import type { ServerCounters } from './server-counters'
import type { StatementShapes } from './statement-shapes'
import type { Traffic } from './wire'

/** One thing that is measured. All operations of one `scenario` on one database are compared with its floor. */
export interface Operation {
  readonly scenario: Scenario
  /** `floor`, `ours: TypeORM`, `verrou`, … */
  readonly who: string
  readonly run: () => Promise<unknown>
  /** For what runs in another process: runs it for so many milliseconds there, and says how many microseconds each took. */
  readonly timed?: (milliseconds: number) => Promise<number[]>
}

export type Scenario =
  'read one row' | 'write one row' | 'win + release' | 'lose' | 'extend' | 'run an empty task'

/** One database with a table of ours, and all that is measured on it. */
export interface Target {
  readonly version: string
  readonly statements: StatementShapes
  readonly operations: readonly Operation[]
  readonly server: ServerCounters
  /** What has gone over the wire so far; undefined where there is none. */
  readonly traffic: Traffic | undefined
  /** Does something while the row of the lock `held` is locked by another session's transaction. */
  readonly whileRowIsLocked: <T>(work: () => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}
