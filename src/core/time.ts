import { uptime } from 'node:os'

/** Cancels a callback that has not been called yet. */
export type Cancel = () => void

/** `setTimeout` fires at once if the delay does not fit into a signed 32-bit integer. */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** Ignore smaller jumps of the wall clock: NTP slews it, and it advances in steps. In milliseconds. */
const JUMP = 50
/** Clocks that are read within this time count as read at the same moment. In milliseconds. */
const ONE_MOMENT = 10
const TRIES = 5
let slept = 0
let { wallAhead, uptimeAhead } = readClocks()

/** Reads how far the wall clock and the uptime are ahead of the monotonic clock. */
function readClocks(): { now: number; wallAhead: number; uptimeAhead: number; isOneMoment: boolean } {
  for (let tries = 1; ; tries++) {
    const before = performance.now()
    const wall = Date.now()
    const booted = sinceBoot()
    const now = performance.now()
    // A busy machine may interrupt the process between two readings.
    const isOneMoment = now - before < ONE_MOMENT
    if (isOneMoment || tries === TRIES)
      return { now, wallAhead: wall - now, uptimeAhead: booted - now, isOneMoment }
  }
}

/**
 * Returns the monotonic time, including suspensions. On Linux and macOS `performance.now()` stops during a suspension, so a lease
 * would be trusted for too long. The wall clock jumps ahead after a suspension, but also when it is set. The uptime
 * (CLOCK_BOOTTIME) distinguishes the two: it includes suspensions, and setting a clock does not change it. It does not include the
 * time during which a hypervisor pauses the machine.
 */
function monotonicNow(): number {
  const now = performance.now()
  return (Math.abs(Date.now() - now - wallAhead) > JUMP ? recordJump() : now) + slept
}

/** Adds the jump to `slept` if it was a suspension, and returns `performance.now()`. */
function recordJump(): number {
  const clocks = readClocks()
  const jump = clocks.wallAhead - wallAhead
  // Decide at the next reading.
  if (!clocks.isOneMoment || Math.abs(jump) <= JUMP) return clocks.now
  const suspended = Math.min(jump, clocks.uptimeAhead - uptimeAhead)
  if (suspended > JUMP) slept += Math.round(suspended)
  ;({ wallAhead, uptimeAhead } = clocks)
  return clocks.now
}

/** Returns the uptime in milliseconds, or 0 if it is not available. */
function sinceBoot(): number {
  try {
    return uptime() * 1_000
  } catch {
    // Some runtimes lack the uptime, or require a permission for it.
    return 0
  }
}

/**
 * Clocks, timers and randomness: `core` and `sql` take them only from here, so that a simulation can replace these methods. They look up
 * `Date` and timers at each call, because test runners replace them with fakes.
 */
export const time = {
  /** Returns the monotonic time in milliseconds, including suspensions of the machine. Only differences are meaningful. */
  now: monotonicNow,
  /** Returns the wall-clock time in milliseconds since 1970. */
  wall: () => Date.now(),
  /**
   * Calls back once, after `delay` milliseconds, but at most 24.8 days.
   *
   * @param keepsAlive whether the process waits for the timer before it ends
   */
  after(delay: number, callback: () => void, keepsAlive: boolean): Cancel {
    const timer = setTimeout(callback, Math.min(delay, LONGEST_TIMEOUT))
    // In runtimes whose timers are numbers, such as some Workers, a timer has no `unref`.
    if (!keepsAlive) (timer as Partial<NodeJS.Timeout>).unref?.()
    return () => {
      clearTimeout(timer)
    }
  },
  /** Returns a random time between half of an interval and all of it, so that waiting callers do not all try again at once. */
  jittered: (interval: number) => interval * (0.5 + Math.random() / 2),
}

/**
 * A length of time that has started. A holder starts its lease before it sends the request, so the database's lease starts, and
 * ends, later.
 */
export class Lease {
  #began: number
  #until: number
  readonly #clock: { now(): number }

  /**
   * Starts a lease.
   *
   * @param duration in milliseconds, from now
   * @param clock counts milliseconds, and never goes back. Default: the monotonic clock of the process
   */
  constructor(duration: number, clock: { now(): number } = time) {
    this.#clock = clock
    this.#began = clock.now()
    this.#until = this.#began + duration
  }

  /** Returns the lease that ends later, because an extension must not shorten a lease. */
  static longer<AnyLease extends Pick<Lease, 'remaining'>>(current: AnyLease, extended: AnyLease): AnyLease {
    return extended.remaining() > current.remaining() ? extended : current
  }

  /** Returns how many milliseconds are left; 0 when the lease is over. */
  remaining(): number {
    return Math.max(0, this.left())
  }

  /** @internal Returns the same, but after the end of the lease how long it is over, as a negative number. */
  left(): number {
    return this.#until - this.#clock.now()
  }

  /**
   * Creates another lease that started at the same time.
   *
   * @param duration in milliseconds, from that time
   */
  lasting(duration: number): Lease {
    // If the class referred to itself by name, the bundler would rename it: `var Lease = class _Lease`.
    const lease = new (this.constructor as typeof Lease)(0, this.#clock)
    lease.#began = this.#began
    lease.#until = this.#began + duration
    return lease
  }
}

/**
 * When a call has to end, on the monotonic clock. Nothing answers a process that stands still, so if it did beyond the end, as long again
 * is added, in all at most the limit.
 */
export class Deadline {
  end: number
  #addable: number

  /**
   * @param limit in milliseconds, from now
   * @param givenUp resolves if the call is given up before that
   */
  constructor(
    readonly limit: number,
    private readonly givenUp?: Promise<void>,
  ) {
    this.end = time.now() + limit
    this.#addable = limit
  }

  /**
   * Returns how many milliseconds are left. After the end, uses up and returns some of what is added, if there is any.
   *
   * @param reserved how many of them to keep for later: only a process that stands still uses them up
   */
  takeLeft(reserved = 0): number {
    const late = time.now() - (this.end - reserved)
    if (late <= 0) return -late
    const added = Math.min(late, this.#addable)
    this.#addable -= added
    this.end += late + added
    return added
  }

  /**
   * Waits for work, but rejects with `late()` when no time is left. The work itself continues.
   *
   * @param reserved how many milliseconds to keep for later, if there are as many
   */
  async wait<T>(work: Promise<T>, late: () => Error, reserved = 0, keepsAlive = true): Promise<T> {
    const left = this.takeLeft()
    const kept = Math.min(reserved, left)
    const givenUp = this.givenUp?.then(() => Promise.reject(late()))
    const waited = givenUp ? Promise.race([work, givenUp]) : work
    try {
      return await inTime(waited, left - kept, late, keepsAlive)
    } catch (error) {
      const more = this.takeLeft(kept)
      if (more === 0) throw error
      return inTime(waited, more, late, keepsAlive)
    }
  }
}

/**
 * A timer wakes up after this time, or a sixteenth of the remaining time if that is longer, to notice a suspension. In
 * milliseconds.
 */
const WAKE_UP_AFTER = 10_000

/** Calls back once when no time remains, which may be immediately. Does not keep the process alive. */
export function whenOver(remaining: () => number, callback: () => void): Cancel {
  let cancel: Cancel | undefined
  const wait = (): void => {
    const left = remaining()
    if (left <= 0) callback()
    else cancel = time.after(Math.min(Math.ceil(left), Math.max(WAKE_UP_AFTER, left / 16)), wait, false)
  }
  wait()
  return () => cancel?.()
}

const abortCallbacks = new WeakMap<AbortSignal, Set<() => void>>()

function callAll(this: AbortSignal): void {
  for (const callback of [...(abortCallbacks.get(this) ?? [])]) callback()
}

/**
 * Calls back when the signal aborts, unless cancelled. All callbacks share one listener, because Node.js warns of more than ten.
 */
export function whenAborted(signal: AbortSignal, callback: () => void): Cancel {
  const callbacks = abortCallbacks.get(signal) ?? new Set()
  abortCallbacks.set(signal, callbacks)
  callbacks.add(callback)
  // Adding the same listener again has no effect.
  signal.addEventListener('abort', callAll)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size === 0) signal.removeEventListener('abort', callAll)
  }
}

/**
 * Waits for this many milliseconds, or until a signal aborts. Unlike `node:timers/promises`, it works with the fake timers of
 * test runners.
 */
export async function sleep(milliseconds: number, ...signals: readonly AbortSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      cancel()
      for (const cancelAbort of cancelAborts) cancelAbort()
      resolve()
    }
    const cancel = time.after(milliseconds, wake, true)
    const cancelAborts = signals.map((signal) => whenAborted(signal, wake))
  })
}

/** Waits for work, but rejects with `late()` after `limit` milliseconds. The work itself continues. */
export async function inTime<T>(
  work: Promise<T>,
  limit: number,
  late: () => Error,
  keepsAlive = true,
): Promise<T> {
  let cancel: Cancel | undefined
  const timeout = new Promise<never>((_, reject) => {
    cancel = time.after(
      limit,
      () => {
        reject(late())
      },
      keepsAlive,
    )
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    cancel?.()
  }
}
