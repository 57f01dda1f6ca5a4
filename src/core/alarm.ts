/** setTimeout fires at once when the delay does not fit a signed 32-bit integer (24.8 days). */
export const LONGEST_TIMEOUT = 2 ** 31 - 1
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 30_000
const SHORTEST_PAUSE = 10

/** Something that is going to happen, unless it is cancelled. Its timers do not keep the process alive. */
export interface Alarm {
  cancel(): void
}

/** Calls back once when nothing remains. */
export function whenOver(remaining: () => number, callback: () => void): Alarm {
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    const left = remaining()
    if (left <= 0) callback()
    else timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMEOUT)).unref()
  }
  wait()
  return {
    cancel: () => {
      clearTimeout(timer)
    },
  }
}

/**
 * Extends once when half of what remains now is over. If that fails, tries again after longer and longer pauses, but
 * never later than at half of the rest, until it succeeds or nothing remains.
 */
export function atHalfTime(remaining: () => number, extend: () => Promise<unknown>): Alarm {
  let alarm: Alarm | undefined
  let cancelled = false
  const wait = (pause: number, nextPause: number): void => {
    const target = remaining() - pause
    alarm = whenOver(
      () => remaining() - target,
      () => {
        extend().catch(() => {
          if (cancelled || remaining() === 0) return
          wait(
            Math.max(SHORTEST_PAUSE, Math.min(remaining() / 2, nextPause)),
            Math.min(nextPause * 2, LONGEST_PAUSE),
          )
        })
      },
    )
  }
  wait(remaining() / 2, FIRST_PAUSE)
  return {
    cancel: () => {
      cancelled = true
      alarm?.cancel()
    },
  }
}

/** Calls back when the signal aborts, or at once if it has. */
export function whenAborted(signal: AbortSignal, callback: (reason: unknown) => void): Alarm {
  const listener = (): void => {
    callback(signal.reason)
  }
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener)
  return {
    cancel: () => {
      signal.removeEventListener('abort', listener)
    },
  }
}
