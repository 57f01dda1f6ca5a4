import { time, type Cancel } from './time'

/** setTimeout fires at once when the delay does not fit a signed 32-bit integer (24.8 days). */
export const LONGEST_TIMEOUT = 2 ** 31 - 1

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
