import { configurationError, optionOf } from './errors'
import type { Duration } from './lock'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** A hundred years. Longer leases would pass the end of the calendar on some databases. */
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
/** A string with a number but no unit is refused, because it could mean seconds, minutes or milliseconds. */
const WITHOUT_UNIT = /^\s*([+-]?\d+)\s*$/
const ISO =
  /^([+-]?)P(?=[\d+-]|T[\d+-])(?:([+-]?\d+)D)?(?:T(?=[\d+-])(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:[.,]\d{0,9})?)S)?)?$/i

/**
 * Converts a duration to whole milliseconds, from 0 to a hundred years.
 *
 * @param option its name, for the error
 * @param lockName the lock that the duration belongs to, if any, for the error
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function aDuration(duration: Duration, option: string, lockName?: string): number {
  const given = isTemporal(duration) ? duration.toString() : duration
  const value = Math.trunc(typeof given === 'number' ? given : parse(given))
  if (value >= 0 && value <= MAX_DURATION) return value
  throw configurationError(`${optionOf(option, lockName)} ${mistakeOf(given, value)}.`, lockName)
}

/** Databases cut their clocks to milliseconds, so a lease of one millisecond may be over when it starts. */
const SHORTEST_LEASE = 2

/**
 * Converts the duration of a lease, as `aDuration` does.
 *
 * @throws LockError `INVALID_CONFIGURATION`, also for a lease that no lock could be acquired for
 */
export function aLease(duration: Duration, option: string, lockName?: string): number {
  const lease = aDuration(duration, option, lockName)
  if (lease >= SHORTEST_LEASE) return lease
  throw configurationError(
    `${optionOf(option, lockName)} is shorter than two milliseconds, so the lock would expire at once – set it to the longest time that the task may run.`,
    lockName,
    option,
  )
}

/** Whether this is a `Temporal.Duration`, whose string is in ISO 8601. */
export function isTemporal(value: unknown): value is Exclude<Duration, number | string> {
  return typeof value === 'object' && value !== null && 'sign' in value && 'blank' in value
}

function mistakeOf(duration: unknown, value: number): string {
  const number = typeof duration === 'string' && WITHOUT_UNIT.exec(duration)?.[1]
  if (number) return `has no unit – write ${number}s or ${number}m`
  if (!Number.isFinite(value))
    return `is ${quoted(duration)}, which is not a duration – pass a number of milliseconds, or a string such as '14m', '30s', '500ms' or 'PT14M'`
  if (value < 0) return `is negative (${String(duration)}) – set it to 0 or more`
  return `is longer than a hundred years (${String(duration)}) – make it shorter`
}

/**
 * Formats a duration for people to read: `1y 2d`, `1d 5h`, `45m`, `12s`, `300ms`. Fewer than ten of a unit are followed by the next smaller
 * unit.
 */
export function formatDuration(duration: number): string {
  if (duration < 1_000) return `${Math.round(duration)}ms`
  let rest = Math.round(duration / 1_000)
  const lengths = { y: 31_536_000, d: 86_400, h: 3_600, m: 60, s: 1 }
  const parts = Object.entries(lengths).map(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest %= length
    return { count, unit }
  })
  const first = parts.findIndex(({ count }) => count > 0)
  const precision = (parts[first]?.count ?? 0) < 10 ? 2 : 1
  const shown = parts.slice(first, first + precision).filter(({ count }) => count > 0)
  return shown.map(({ count, unit }) => `${count}${unit}`).join(' ')
}

function parse(text: unknown): number {
  if (typeof text !== 'string') return NaN
  const simple = SIMPLE.exec(text)
  if (simple) return Number(simple[1]) * (UNITS[(simple[2] ?? '').toLowerCase()] ?? NaN)
  const iso = ISO.exec(text)
  if (!iso) return NaN
  const part = (index: number): number => Number((iso[index] ?? '0').replace(',', '.'))
  const total = part(2) * DAY + part(3) * HOUR + part(4) * 60_000 + part(5) * 1_000
  // Round off the noise of binary fractions: 1.001 s is 1001 ms, not 1000.9999 ms cut to 1000.
  return (iso[1] === '-' ? -1 : 1) * Number(total.toFixed(6))
}

/** Quotes a value of any type in a message. */
export function quoted(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  // `String()` throws for an object without a `toString` method.
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
