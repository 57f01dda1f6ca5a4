/**
 * How long the holder may trust its lock. Begin it before the request is sent: the database's lease starts later, so
 * this one ends first. On the monotonic clock, because the wall clock may be set while the task runs.
 */
export class Lease {
  readonly #until: number

  constructor(duration: number) {
    this.#until = performance.now() + duration
  }

  /** Milliseconds left; 0 when it is over. */
  remaining(): number {
    return Math.max(0, this.#until - performance.now())
  }
}
