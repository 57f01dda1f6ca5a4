import { LONGEST_TIMEOUT, time, type Cancel } from './time'

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
  readonly #began: number
  readonly #until: number
  readonly #clock: Clock

  /** @param duration in milliseconds, from now */
  constructor(duration: number, clock: Clock = time) {
    this.#clock = clock
    this.#began = clock.now()
    this.#until = this.#began + duration
  }

  /** Milliseconds left; 0 when it is over. */
  remaining(): number {
    return Math.max(0, this.#until - this.#clock.now())
  }

  /** Milliseconds since it began. */
  age(): number {
    return this.#clock.now() - this.#began
  }
}

/** The one of two leases that ends later. */
export function later(one: Lease, other: Lease): Lease {
  return other.remaining() > one.remaining() ? other : one
}

/** Calls back once when nothing remains, at once if nothing does. Keeps no process alive. */
export function whenOver(remaining: () => number, callback: () => void): Cancel {
  let cancel: Cancel | undefined
  const wait = (): void => {
    const left = remaining()
    if (left <= 0) callback()
    else cancel = time.after(Math.min(Math.ceil(left), LONGEST_TIMEOUT), wait, false)
  }
  wait()
  return () => cancel?.()
}
