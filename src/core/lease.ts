import { time } from './time'

/** Tells the time in milliseconds; only differences count. */
export interface Clock {
  /** Milliseconds since whenever, never fewer than at the call before. */
  now(): number
}

/**
 * A length of time that has begun. The holder of a lock begins one before it sends its request: the database's lease
 * starts later, so this one ends first. On the monotonic clock, because the wall clock may be set while a task runs.
 */
export class Lease {
  readonly #until: number
  readonly #clock: Clock

  /** @param duration in milliseconds, from now */
  constructor(duration: number, clock: Clock = time) {
    this.#clock = clock
    this.#until = clock.now() + duration
  }

  /** Milliseconds left; 0 when it is over. */
  remaining(): number {
    return Math.max(0, this.#until - this.#clock.now())
  }
}

/** The one of two leases that ends later. */
export function later(one: Lease, other: Lease): Lease {
  return other.remaining() > one.remaining() ? other : one
}
