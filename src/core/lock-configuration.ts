import { invalid } from './errors'
import type { Duration, LockConfiguration, LockProvider } from './lock'
import { checkSlot, RETRY_STEPS } from './slots'

/** A lock configuration whose values were checked, with durations in milliseconds. */
export interface CheckedLockConfiguration extends LockConfiguration {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
  /** In milliseconds since 1970. */
  readonly slot?: number
  readonly untilSucceeded?: boolean
}

/** The documented column is `varchar(64)`; MySQL without strict mode would cut a longer name silently. */
const MAX_NAME_LENGTH = 64
const OPTIONS: readonly string[] = [
  'name',
  'lockAtMostFor',
  'lockAtLeastFor',
  'slot',
  'untilSucceeded',
] satisfies (keyof LockConfiguration)[]

/** Marks a configuration as checked: an executor checks it before it tells its listeners, and its provider need not repeat that. */
class Checked implements CheckedLockConfiguration {
  declare readonly slot?: number
  declare readonly untilSucceeded?: true

  constructor(
    readonly name: string,
    readonly lockAtMostFor: number,
    readonly lockAtLeastFor: number,
    slot: number | undefined,
    untilSucceeded: boolean | undefined,
  ) {
    if (slot !== undefined) this.slot = untilSucceeded ? slot - (slot % RETRY_STEPS) : slot
    if (untilSucceeded && slot !== undefined) this.untilSucceeded = true
    Object.freeze(this)
  }
}

/**
 * Refuses what can never work, so that it fails at start-up and not at 3 a.m.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLockConfiguration(configuration: LockConfiguration): CheckedLockConfiguration {
  if (configuration instanceof Checked) return configuration
  checkOptions(configuration, OPTIONS, 'lock configuration')
  const name = checkLockName(configuration.name)
  if ((configuration.lockAtMostFor as Duration | undefined) === undefined) {
    throw invalid(
      `Lock '${name}' has no lockAtMostFor – set it, for example to '10m', in its configuration or as defaultLockAtMostFor.`,
      name,
    )
  }
  const { lockAtMostFor, lockAtLeastFor } = checkLease(
    name,
    configuration.lockAtMostFor,
    configuration.lockAtLeastFor ?? 0,
  )
  const { untilSucceeded } = configuration
  const slot = configuration.slot === undefined ? undefined : checkSlot(name, configuration.slot)
  if (untilSucceeded !== undefined && typeof untilSucceeded !== 'boolean')
    throw invalid(`untilSucceeded of lock '${name}' must be true or false.`, name)
  // A slot that is passed as undefined is that of a call without a slot.
  if (untilSucceeded && !('slot' in configuration))
    throw invalid(
      `untilSucceeded of lock '${name}' needs a slot – set slot to the time at which the run was due.`,
      name,
    )
  return new Checked(name, lockAtMostFor, lockAtLeastFor, slot, untilSucceeded)
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLease(name: string, lockAtMostFor: Duration, lockAtLeastFor: Duration) {
  const atMost = checkDuration(name, 'lockAtMostFor', lockAtMostFor)
  const atLeast = checkDuration(name, 'lockAtLeastFor', lockAtLeastFor)
  if (atMost === 0) {
    throw invalid(
      `lockAtMostFor of lock '${name}' is less than one millisecond, so it would keep nobody out – set it to the longest time that the task may run.`,
      name,
    )
  }
  if (atLeast > atMost) {
    throw invalid(
      `lockAtLeastFor of lock '${name}' (${atLeast} ms) is longer than its lockAtMostFor (${atMost} ms) – make it as long at most.`,
      name,
    )
  }
  return { lockAtMostFor: atMost, lockAtLeastFor: atLeast }
}

/**
 * Returns the name if every database can store it: 1 to 64 characters, no control characters, no blank at either end.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLockName(name: unknown): string {
  if (typeof name !== 'string' || name === '')
    throw invalid('A lock has no name – set name to a text that is not empty.')
  if (name.length > MAX_NAME_LENGTH) {
    throw invalid(
      `Lock name '${name}' has ${name.length} characters, and its column holds ${MAX_NAME_LENGTH} – shorten it.`,
      name,
    )
  }
  if (/[\p{Cc}\p{Cs}]/u.test(name)) {
    throw invalid(
      `Lock name ${JSON.stringify(name)} contains control characters or lone surrogates – use plain text.`,
      name,
    )
  }
  // MySQL and SQL Server ignore trailing blanks when they compare: two names would be one lock there.
  if (name.trim() !== name) throw invalid(`Lock name '${name}' begins or ends with a blank – trim it.`, name)
  return name
}

/**
 * Refuses an unknown option: a typing mistake would otherwise silently have no effect.
 *
 * @param lockName where the options belong to one lock
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkOptions(
  options: object,
  known: readonly string[],
  what: string,
  lockName?: string,
): void {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw invalid(`The ${what} must be an object; its options are ${known.join(', ')}.`, lockName)
  }
  const unknown = Object.keys(options).filter((key) => !known.includes(key))
  if (unknown.length > 0) {
    throw invalid(
      `Unknown option ${unknown.map((key) => `'${key}'`).join(', ')} in the ${what} – known are ${known.join(', ')}.`,
      lockName,
    )
  }
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkProvider(provider: LockProvider, what = 'The first argument'): void {
  if (typeof (provider as LockProvider | undefined)?.lock !== 'function')
    throw invalid(
      `${what} is not a lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).`,
    )
}

/**
 * Turns a duration into whole milliseconds, from 0 to a hundred years.
 *
 * @param name the lock's name, for the error, where there is one
 * @param what the option's name, for the error
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkDuration(name: string | undefined, what: string, duration: Duration): number {
  const subject = name === undefined ? what : `${what} of lock '${name}'`
  const value = milliseconds(duration, subject, name)
  if (value < 0) throw invalid(`${subject} is negative (${duration}) – set it to 0 or more.`, name)
  if (value > MAX_DURATION)
    throw invalid(`${subject} is longer than a hundred years (${duration}) – make it shorter.`, name)
  return value
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Beyond this some database's calendar ends, and nobody wants it. */
const MAX_DURATION = 36_500 * DAY
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
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
  const total = part(2) * DAY + part(3) * HOUR + part(4) * 60_000 + part(5) * 1_000
  // Seconds have decimals that a binary float cannot hold: 1.001 s is 1001 ms, not 1000.9999 ms cut to 1000.
  return (iso[1] === '-' ? -1 : 1) * Number(total.toFixed(6))
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  // An object need not know how to become text.
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
