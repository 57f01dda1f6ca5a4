import { LockError, milliseconds, type Clock, type Duration } from '../core'

/**
 * A clock that stands still until it is told to go on: `new InMemoryLockProvider(new FakeClock())`. It decides who gets a
 * lock. Signals abort by timers; to see that in a test, use the fake timers of your test runner and no clock at all.
 */
export class FakeClock implements Clock {
  #now = 0

  /** Milliseconds that it was told to go on; 0 at first. */
  now(): number {
    return this.#now
  }

  /**
   * Goes on by this much.
   *
   * @throws LockError `INVALID_CONFIGURATION` for what is no duration, or points backward
   */
  advance(duration: Duration): void {
    const step = milliseconds(duration)
    if (step < 0)
      throw new LockError('INVALID_CONFIGURATION', `The clock only goes forward, not by ${duration}.`)
    this.#now += step
  }
}
