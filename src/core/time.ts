import { uptime } from 'node:os'

/** Cancels what has not happened yet. */
export type Cancel = () => void

/** Clocks, timers and chance: the only door to them from `core` and `sql`. */
export interface Time {
  /** The monotonic clock, in milliseconds, including the time in which the machine was suspended; only differences count. */
  now(): number
  /** The wall clock, in milliseconds since 1970. */
  wall(): number
  /**
   * Calls back once, after so many milliseconds.
   *
   * @param keepsAlive whether the process waits for it before it ends
   */
  after(pause: number, callback: () => void, keepsAlive: boolean): Cancel
  /** A random time between half of a pause and all of it, so that those who wait do not all come at once. */
  jittered(pause: number): number
}

/** setTimeout fires at once when the delay does not fit a signed 32-bit integer (24.8 days). */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** A smaller jump of the wall clock is none: clocks are slewed, and counted in steps. In milliseconds. */
const JUMP = 50
/** Clocks that are read within this belong to one moment. In milliseconds. */
const ONE_MOMENT = 10
const TRIES = 5
let slept = 0
let { wallAhead, uptimeAhead } = readClocks()

/** How far wall clock and uptime are ahead of the monotonic clock. */
function readClocks(): { now: number; wallAhead: number; uptimeAhead: number; isOneMoment: boolean } {
  for (let tries = 1; ; tries++) {
    const before = performance.now()
    const wall = Date.now()
    const booted = sinceBoot()
    const now = performance.now()
    // On a busy machine the process may be interrupted between two of them.
    const isOneMoment = now - before < ONE_MOMENT
    if (isOneMoment || tries === TRIES)
      return { now, wallAhead: wall - now, uptimeAhead: booted - now, isOneMoment }
  }
}

/**
 * The monotonic clock of Linux and macOS stops while the machine is suspended, and a lease would be trusted for too long. The wall
 * clock jumps ahead then, but so it does when somebody sets it. The machine's uptime counts a suspension (CLOCK_BOOTTIME) and
 * no setting of a clock: after a jump it decides. A virtual machine that is stopped from outside does not count that time.
 */
function monotonicNow(): number {
  const now = performance.now()
  return (Math.abs(Date.now() - now - wallAhead) > JUMP ? lookAtJump() : now) + slept
}

/** @returns what the monotonic clock tells */
function lookAtJump(): number {
  const clocks = readClocks()
  const jump = clocks.wallAhead - wallAhead
  // The next look will tell.
  if (!clocks.isOneMoment || Math.abs(jump) <= JUMP) return clocks.now
  const suspended = Math.min(jump, clocks.uptimeAhead - uptimeAhead)
  if (suspended > JUMP) slept += Math.round(suspended)
  ;({ wallAhead, uptimeAhead } = clocks)
  return clocks.now
}

/** In milliseconds. */
function sinceBoot(): number {
  try {
    return uptime() * 1_000
  } catch {
    // Some runtimes do not tell it, or not without a permission.
    return 0
  }
}

/** Looked up at each call, because the fake timers of test runners replace them. A simulation replaces the methods. */
export const time: Time = {
  now: monotonicNow,
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

/** A monotonic clock. */
export interface Clock {
  /** Milliseconds since any fixed moment, never fewer than at the call before: only differences count. */
  now(): number
}

/**
 * A length of time that has begun. A holder begins its lease before it sends the request: the database's own begins later, and so
 * ends later.
 */
export class Lease {
  #began: number
  #until: number
  readonly #clock: Clock

  /**
   * Begins a lease.
   *
   * @param duration in milliseconds, from now
   * @param clock default: the monotonic clock of the process
   */
  constructor(duration: number, clock: Clock = time) {
    this.#clock = clock
    this.#began = clock.now()
    this.#until = this.#began + duration
  }

  /** How many milliseconds are left; 0 when the lease is over. */
  remaining(): number {
    return Math.max(0, this.#until - this.#clock.now())
  }

  /**
   * Makes another lease that began at the same time.
   *
   * @param duration in milliseconds, from that time
   */
  lasting(duration: number): Lease {
    // A class that names itself would be renamed by the bundler: `var Lease = class _Lease`.
    const lease = new (this.constructor as typeof Lease)(0, this.#clock)
    lease.#began = this.#began
    lease.#until = this.#began + duration
    return lease
  }
}

/** No timer waits for longer: a machine that was suspended is to be noticed soon. In milliseconds. */
const LOOK_AGAIN = 10_000

/** Calls back once when nothing remains, at once if nothing does. Keeps no process alive. */
export function whenOver(remaining: () => number, callback: () => void): Cancel {
  let cancel: Cancel | undefined
  const wait = (): void => {
    const left = remaining()
    if (left <= 0) callback()
    else
      cancel = time.after(
        Math.min(Math.ceil(left), Math.max(LOOK_AGAIN, left / 16), LONGEST_TIMEOUT),
        wait,
        false,
      )
  }
  wait()
  return () => cancel?.()
}

const abortCallbacks = new WeakMap<AbortSignal, Set<() => void>>()

function callAll(this: AbortSignal): void {
  for (const callback of [...(abortCallbacks.get(this) ?? [])]) callback()
}

/** Calls back when the signal aborts, unless it is cancelled. However many do, the signal has one listener: Node.js warns of ten. */
export function whenAborted(signal: AbortSignal, callback: () => void): Cancel {
  const callbacks = abortCallbacks.get(signal) ?? new Set()
  abortCallbacks.set(signal, callbacks)
  callbacks.add(callback)
  // Adding the same function again changes nothing.
  signal.addEventListener('abort', callAll)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size === 0) signal.removeEventListener('abort', callAll)
  }
}

/**
 * Ends early when the signal aborts, and at once if it has aborted. Not that of `node:timers/promises`, which the fake timers of test
 * runners do not replace.
 */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      cancel()
      cancelAbort?.()
      resolve()
    }
    const cancel = time.after(Math.min(milliseconds, LONGEST_TIMEOUT), wake, true)
    const cancelAbort = signal && whenAborted(signal, wake)
  })
}

/** Waits for work, but not longer than `limit` milliseconds; the work itself goes on. */
export async function inTime<T>(
  work: Promise<T>,
  limit: number,
  late: () => Error,
  keepsAlive = true,
): Promise<T> {
  let cancel: Cancel | undefined
  const timeout = new Promise<never>((_, reject) => {
    cancel = time.after(
      Math.min(limit, LONGEST_TIMEOUT),
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
