import { invalid } from './errors'

/**
 * A length of time: a number of milliseconds; or a text with a whole number and a unit (`'500ms'`, `'30s'`, `'14m'`, `'2h'`,
 * `'60d'`, also `us` and `ns`; without a unit it is milliseconds); or a text in ISO 8601 (`'PT14M'`, `'P1DT2H'`). Case does not
 * matter: `'14M'` is fourteen minutes. Fractions of a millisecond are cut off.
 */
export type Duration = number | string

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
}

const SIMPLE = /^([+-]?\d+)([a-z]{0,2})$/i
const ISO =
  /^([+-]?)P(?=[\d+-]|T[\d+-])(?:([+-]?\d+)D)?(?:T(?=[\d+-])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?$/i

/**
 * Turns a duration into whole milliseconds, which may be negative: the caller decides whether that makes sense.
 *
 * @param what names the value in the error message, such as `lockAtMostFor`
 * @param lockName the lock that the duration belongs to, for the error
 * @throws LockError `INVALID_CONFIGURATION` when it is not finite or cannot be read
 */
export function milliseconds(duration: Duration, what = 'duration', lockName?: string): number {
  const value = typeof duration === 'number' ? duration : parse(duration)
  if (!Number.isFinite(value)) {
    throw invalid(
      `${what} is ${describe(duration)}, which is not a duration – pass a number of milliseconds, or a text such as '14m', '30s', '500ms' or 'PT14M'.`,
      lockName,
    )
  }
  return Math.trunc(value)
}

function parse(text: unknown): number {
  if (typeof text !== 'string') return NaN
  const simple = SIMPLE.exec(text)
  if (simple) return Number(simple[1]) * (UNITS[(simple[2] ?? '').toLowerCase()] ?? NaN)
  const iso = ISO.exec(text)
  if (!iso) return NaN
  const part = (index: number): number => Number((iso[index] ?? '0').replace(',', '.'))
  const total = part(2) * DAY + part(3) * HOUR + part(4) * MINUTE + part(5) * SECOND
  // Seconds have decimals that a binary float cannot hold: 1.001 s is 1001 ms, not 1000.9999 ms cut to 1000.
  return (iso[1] === '-' ? -1 : 1) * Number(total.toFixed(6))
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  // An object need not know how to become text.
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
