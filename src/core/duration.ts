import { invalid, optionOf } from './errors'
import type { Duration } from './lock'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Beyond this some database's calendar ends, and nobody wants it. */
const MAX_DURATION = 36_500 * DAY
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: HOUR,
  d: DAY,
}

const SIMPLE = /^([+-]?\d+)([a-z]{1,2})$/i
/** What a configuration may pass on as it read it: seconds, minutes and milliseconds look the same. */
const WITHOUT_UNIT = /^\s*([+-]?\d+)\s*$/
const ISO =
  /^([+-]?)P(?=[\d+-]|T[\d+-])(?:([+-]?\d+)D)?(?:T(?=[\d+-])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?$/i

/**
 * Turns a duration into whole milliseconds, from 0 to a hundred years.
 *
 * @param name the lock's name, for the error, where there is one
 * @param what the option's name, for the error
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkDuration(name: string | undefined, what: string, duration: Duration): number {
  const value = milliseconds(duration, what, name)
  if (value >= 0 && value <= MAX_DURATION) return value
  const [wrong, advice] =
    value < 0 ? ['negative', 'set it to 0 or more'] : ['longer than a hundred years', 'make it shorter']
  throw invalid(`${optionOf(name, what)} is ${wrong} (${duration}) – ${advice}.`, name)
}

/**
 * Turns a duration into whole milliseconds, which may be negative: the caller decides whether that makes sense.
 *
 * @param what names the value in the error message, such as `lockAtMostFor`
 * @param lockName the lock that the duration belongs to, for the error
 * @throws LockError `INVALID_CONFIGURATION` when it is not finite or cannot be read
 */
export function milliseconds(duration: Duration, what = 'duration', lockName?: string): number {
  const value = typeof duration === 'number' ? duration : parse(duration)
  if (Number.isFinite(value)) return Math.trunc(value)
  const subject = optionOf(lockName, what)
  const number = typeof duration === 'string' && WITHOUT_UNIT.exec(duration)?.[1]
  throw invalid(
    number
      ? `${subject} has no unit – write ${number}s or ${number}m.`
      : `${subject} is ${describe(duration)}, which is not a duration – pass a number of milliseconds, or a string such as '14m', '30s', '500ms' or 'PT14M'.`,
    lockName,
  )
}

function parse(text: unknown): number {
  if (typeof text !== 'string') return NaN
  const simple = SIMPLE.exec(text)
  if (simple) return Number(simple[1]) * (UNITS[(simple[2] ?? '').toLowerCase()] ?? NaN)
  const iso = ISO.exec(text)
  if (!iso) return NaN
  const part = (index: number): number => Number((iso[index] ?? '0').replace(',', '.'))
  const total = part(2) * DAY + part(3) * HOUR + part(4) * 60_000 + part(5) * 1_000
  // Seconds have decimals that a binary float cannot hold: 1.001 s is 1001 ms, not 1000.9999 ms cut to 1000.
  return (iso[1] === '-' ? -1 : 1) * Number(total.toFixed(6))
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  // An object need not know how to become text.
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
