/** Cancels what has not happened yet. */
export type Cancel = () => void

/** What the lock takes from its surroundings: clocks, timers and chance. Nothing else in `core` and `sql` asks for them. */
export interface Time {
  /** The monotonic clock, in milliseconds: only differences count. */
  now(): number
  /** The wall clock, in milliseconds since 1970. */
  wall(): number
  /**
   * Calls back once, after so many milliseconds.
   *
   * @param keepsAlive whether the process waits for it before it ends
   */
  after(pause: number, callback: () => void, keepsAlive: boolean): Cancel
  /** Between half of a pause and all of it, so that those who wait do not all ask at once. */
  jittered(pause: number): number
}

/** setTimeout fires at once when the delay does not fit a signed 32-bit integer (24.8 days). */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** Looked up at each call, because the fake timers of test runners replace them. A simulation replaces the methods. */
export const time: Time = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(pause, callback, keepsAlive) {
    const timer = setTimeout(callback, pause)
    // Where timers are numbers, as in some Workers, there is nothing to tell.
    if (!keepsAlive) (timer as Partial<NodeJS.Timeout>).unref?.()
    return () => {
      clearTimeout(timer)
    }
  },
  jittered: (pause) => pause * (0.5 + Math.random() / 2),
}
