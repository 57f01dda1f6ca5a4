import type { AcquireOutcome } from './dialect'
import type { Row } from './sql-executor'

/** The owner of a row, for one acquisition. */
export interface Holder {
  readonly name: string
  readonly lockedBy: string
  /** Whether `locked_at` is a slot, which is given back if the task never began. */
  readonly hasSlot?: boolean
}

/** The outcome of an attempt to acquire the lock. `ahead`: its slot is too far in the future. */
export type TakeOutcome = Exclude<AcquireOutcome, 'free'>

/** Hears the row that a statement has seen, of who holds the lock. */
export type OnSeen = (row: Row) => void
