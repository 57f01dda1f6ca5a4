import type { ChaosDatabase } from './chaos-database'
import type { Random } from './random'
import type { WorkerPool } from './worker-pool'

/** What a fault may lay hands on. */
export interface Surroundings {
  readonly database: ChaosDatabase
  readonly workers: WorkerPool
  readonly random: Random
  readonly lockAtMostFor: number
  /** How long a step of the lock may take in a patient process. */
  readonly timeLimit: number
}

export interface Fault {
  readonly name: string
  /** Nobody can take a lock meanwhile. */
  readonly blocks?: boolean
  /** Takes locks away from their holders. */
  readonly destroys?: boolean
  /** Why it cannot happen here. */
  missing?(database: ChaosDatabase): string | undefined
  inject(surroundings: Surroundings): Promise<void>
}
