import { milliseconds, type Duration } from './duration'
import { LockError } from './errors'
import type { LockConfiguration, LockProvider } from './lock'

/** A configuration whose values were checked, with durations in milliseconds. */
export interface CheckedLockConfiguration extends LockConfiguration {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
  /** In milliseconds since 1970. */
  readonly slot?: number
}

/** The documented column is `varchar(64)`; MySQL without strict mode would cut a longer name silently. */
const MAX_NAME_LENGTH = 64
/** Beyond this some database's calendar ends, and nobody wants it. */
const MAX_DURATION = milliseconds('36500d')
/** No database's calendar ends before. */
const MAX_SLOT = Date.UTC(10_000, 0) - 1
const OPTIONS: readonly string[] = [
  'name',
  'lockAtMostFor',
  'lockAtLeastFor',
  'slot',
] satisfies (keyof LockConfiguration)[]

/** An executor checks before it tells its listeners, and gives what it checked to a provider: that need not check again. */
class Checked implements CheckedLockConfiguration {
  declare readonly slot?: number

  constructor(
    readonly name: string,
    readonly lockAtMostFor: number,
    readonly lockAtLeastFor: number,
    slot: number | undefined,
  ) {
    if (slot !== undefined) this.slot = slot
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
      `Lock '${name}' has no lockAtMostFor – give one, such as '10m', here or as defaultLockAtMostFor.`,
      name,
    )
  }
  const { lockAtMostFor, lockAtLeastFor } = checkLease(
    name,
    configuration.lockAtMostFor,
    configuration.lockAtLeastFor ?? 0,
  )
  return new Checked(name, lockAtMostFor, lockAtLeastFor, checkSlot(name, configuration.slot))
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkSlot(name: string, slot: unknown): number | undefined {
  if (slot === undefined) return undefined
  const time = isDate(slot) ? slot.getTime() : slot
  if (typeof time === 'number' && Number.isInteger(time) && time > 0 && time <= MAX_SLOT) return time
  throw invalid(
    `slot of lock '${name}' must be a valid Date, or whole milliseconds since 1970: when this run was due.`,
    name,
  )
}

/** How far a slot may lie in the future where nobody says otherwise, in milliseconds. */
export const SLOT_AT_MOST_AHEAD = 3_600_000

/** For a provider that sees by the clock of its storage that a slot is too far in the future. */
export function slotTooFarAhead(name: string, slot: number, slotAtMostAhead: number): LockError {
  const time = new Date(slot).toISOString()
  return invalid(
    `The slot of lock '${name}', ${time}, is more than ${slotAtMostAhead} ms in the future by the clock of the database – give the time at which this run was due, or set slotAtMostAhead.`,
    name,
  )
}

/** Also one of another realm, as test runners have them. */
function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLease(name: string, lockAtMostFor: Duration, lockAtLeastFor: Duration) {
  const atMost = checkDuration(name, 'lockAtMostFor', lockAtMostFor)
  const atLeast = checkDuration(name, 'lockAtLeastFor', lockAtLeastFor)
  if (atMost === 0) {
    throw invalid(
      `lockAtMostFor of lock '${name}' is under one millisecond, which locks nobody out – give the longest time that the task may take.`,
      name,
    )
  }
  if (atLeast > atMost) {
    throw invalid(
      `lockAtLeastFor (${atLeast} ms) is longer than lockAtMostFor (${atMost} ms) for lock '${name}' – make it at most as long.`,
      name,
    )
  }
  return { lockAtMostFor: atMost, lockAtLeastFor: atLeast }
}

/**
 * The name, if every database can have it: 1 to 64 characters, no control characters, no blank at either end.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLockName(name: unknown): string {
  if (typeof name !== 'string' || name === '') throw invalid('A lock needs a name: a text that is not empty.')
  if (name.length > MAX_NAME_LENGTH) {
    throw invalid(
      `Lock name '${name}' has ${name.length} characters – the column holds ${MAX_NAME_LENGTH}, shorten it.`,
      name,
    )
  }
  if (/[\p{Cc}\p{Cs}]/u.test(name)) {
    throw invalid(
      `Lock name ${JSON.stringify(name)} has control characters or lone surrogates – use plain text.`,
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
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkOptions(options: object, known: readonly string[], what: string): void {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw invalid(`The ${what} must be an object with ${known.join(', ')}.`)
  }
  const unknown = Object.keys(options).filter((key) => !known.includes(key))
  if (unknown.length > 0) {
    throw invalid(
      `Unknown option ${unknown.map((key) => `'${key}'`).join(', ')} in the ${what} – known are ${known.join(', ')}.`,
    )
  }
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkProvider(provider: LockProvider): void {
  if (typeof (provider as LockProvider | undefined)?.lock !== 'function')
    throw invalid(
      'The first argument is not a lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).',
    )
}

/**
 * A duration in whole milliseconds, from 0 to a hundred years.
 *
 * @param name the lock's name, for the message of the error, where there is one
 * @param what the option's name, for the same
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkDuration(name: string | undefined, what: string, duration: Duration): number {
  const subject = name === undefined ? what : `${what} of lock '${name}'`
  const value = milliseconds(duration, subject)
  if (value < 0) throw invalid(`${subject} is negative (${duration}) – give 0 or more.`, name)
  if (value > MAX_DURATION)
    throw invalid(`${subject} is longer than a hundred years (${duration}) – give a shorter one.`, name)
  return value
}

function invalid(message: string, lockName?: string): LockError {
  return new LockError('INVALID_CONFIGURATION', message, { lockName })
}
