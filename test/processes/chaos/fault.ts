import type { ChaosDatabase } from './chaos-database'
import type { Random } from '../app/random'
import type { WorkerPool } from './worker-pool'

/** What a fault may manipulate. */
export interface Surroundings {
  readonly database: ChaosDatabase
  readonly workers: WorkerPool
  readonly random: Random
}

export interface Fault {
  readonly name: string
  /** Whether no process can acquire a lock while the fault lasts. */
  readonly blocks?: boolean
  /** Whether the fault destroys rows of held locks. */
  readonly destroys?: boolean
  /** Returns why the fault cannot be injected into this database; `undefined` if it can. */
  missing?(database: ChaosDatabase): string | undefined
  inject(surroundings: Surroundings): Promise<void>
}
