/** setTimeout fires at once when the delay does not fit a signed 32-bit integer (24.8 days). */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

/** Cancels what has not happened yet. */
export type Cancel = () => void

/** Lets the process end before the timer. Where timers are numbers, as in some Workers, there is nothing to tell. */
export function keepsNothingAlive(timer: NodeJS.Timeout): NodeJS.Timeout {
  ;(timer as Partial<NodeJS.Timeout>).unref?.()
  return timer
}

/** Calls back once when nothing remains, at once if nothing does. Keeps no process alive. */
export function whenOver(remaining: () => number, callback: () => void): Cancel {
  let timer: NodeJS.Timeout | undefined
  const wait = (): void => {
    const left = remaining()
    if (left <= 0) callback()
    else timer = keepsNothingAlive(setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMEOUT)))
  }
  wait()
  return () => {
    clearTimeout(timer)
  }
}
