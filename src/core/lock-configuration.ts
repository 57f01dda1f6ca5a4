import { checkDuration } from './duration'
import { invalid, optionOf } from './errors'
import type { Duration, KeepAliveOptions, LockConfiguration, WaitOptions } from './lock'
import {
  aBoolean,
  aDuration,
  aSignal,
  checkOptions,
  mustBe,
  type CheckedOptions,
  type OptionChecks,
} from './options'
import { checkSlot, RETRY_STEPS } from './slots'
import { LONGEST_TIMEOUT } from './time'

/** A lock configuration whose values were checked: what a storage needs to acquire the lock. */
export interface CheckedLockConfiguration {
  /** The lock's name. */
  readonly name: string
  /** In milliseconds. */
  readonly lockAtMostFor: number
  /** In milliseconds; 0 if it was not set. */
  readonly lockAtLeastFor: number
  /** In milliseconds since 1970; whole seconds with `untilSucceeded`. */
  readonly slot?: number
  /** Whether the slot may be acquired again until a run of it has succeeded. */
  readonly untilSucceeded?: true
}

/** A checked lock configuration, and how to acquire the lock. Durations are in milliseconds. */
export interface LockRequest {
  readonly configuration: CheckedLockConfiguration
  readonly wait: { readonly atMost: number; readonly interval: number } | undefined
  /** For how long to keep the lock alive: `Infinity` without a limit, `undefined` for not at all. */
  readonly keepAlive: number | undefined
  readonly signal: AbortSignal | undefined
}

/** The documented column is `varchar(64)`; MySQL without strict mode would silently cut a longer name. */
const MAX_NAME_LENGTH = 64
/** Such as a zero-width space or a line separator. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]/gu
/** Spring replaces such placeholders in a name: `#{#tenant}` and `${tenant}`. */
const PLACEHOLDER = /[$#]\{[^}]*\}/

export const LOCK_OPTIONS = {
  name: checkLockName,
  lockAtMostFor: aDuration,
  lockAtLeastFor: aDuration,
  slot: checkSlot,
  untilSucceeded: aBoolean,
  wait: checkWait,
  keepAlive: checkKeepAlive,
  signal: aSignal,
} satisfies OptionChecks<LockConfiguration>

/**
 * Refuses a configuration that can never work, so that it fails at start-up and not at 3 a.m.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLockConfiguration(configuration: LockConfiguration): LockRequest {
  return lockRequest(checkOptions(configuration, LOCK_OPTIONS, 'lock configuration', nameOf(configuration)))
}

/**
 * Checks the options that depend on each other.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function lockRequest(checked: CheckedOptions<LockConfiguration, typeof LOCK_OPTIONS>): LockRequest {
  const { slot, untilSucceeded = false, wait, keepAlive, signal } = checked
  const name = checkLockName(checked.name)
  if (checked.lockAtMostFor === undefined) {
    throw invalid(
      `Lock '${name}' has no lockAtMostFor – set it, for example to '10m', in its configuration or as defaultLockAtMostFor.`,
      name,
    )
  }
  if (untilSucceeded && slot === undefined)
    throw invalid(
      `untilSucceeded of lock '${name}' needs a slot – set slot to the time at which the run was due.`,
      name,
    )
  const configuration = {
    name,
    ...checkLease(name, checked.lockAtMostFor, checked.lockAtLeastFor ?? 0),
    ...(slot !== undefined && { slot: untilSucceeded ? slot - (slot % RETRY_STEPS) : slot }),
    ...(untilSucceeded && { untilSucceeded: true as const }),
  }
  return { configuration: Object.freeze(configuration), wait, keepAlive, signal }
}

/** Returns the lock's name if it is a string, for errors about other options. */
export function nameOf(configuration: { readonly name?: unknown } | undefined): string | undefined {
  const name = (configuration as { name?: unknown } | null | undefined)?.name
  return typeof name === 'string' ? name : undefined
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkLease(name: string, lockAtMostFor: Duration, lockAtLeastFor: Duration) {
  const atMost = checkDuration(name, 'lockAtMostFor', lockAtMostFor)
  const atLeast = checkDuration(name, 'lockAtLeastFor', lockAtLeastFor)
  if (atMost === 0) {
    throw invalid(
      `lockAtMostFor of lock '${name}' is less than one millisecond, so the lock would expire at once – set it to the longest time that the task may run.`,
      name,
      'lockAtMostFor',
    )
  }
  if (atLeast > atMost) {
    throw invalid(
      `lockAtLeastFor of lock '${name}' (${atLeast} ms) is longer than its lockAtMostFor (${atMost} ms) – shorten it, or make lockAtMostFor longer.`,
      name,
      'lockAtLeastFor',
    )
  }
  return { lockAtMostFor: atMost, lockAtLeastFor: atLeast }
}

/**
 * Returns the name if every database can store it and people can read it: 1 to 64 characters, no control or invisible characters,
 * no placeholder that nothing replaces, no blank at either end.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkLockName(name: unknown): string {
  if (typeof name !== 'string' || name === '')
    throw invalid('A lock has no name – set name to a string that is not empty.')
  if (name.length > MAX_NAME_LENGTH) {
    throw invalid(
      `Lock name '${name}' has ${name.length} characters, but its column holds only ${MAX_NAME_LENGTH} – shorten it.`,
      name,
    )
  }
  if (/[\p{Cc}\p{Cs}]/u.test(name)) {
    throw invalid(
      `Lock name ${JSON.stringify(name)} contains control characters or lone surrogates – use plain text.`,
      name,
    )
  }
  if (name.search(INVISIBLE) >= 0) {
    throw invalid(
      `Lock name "${name.replace(INVISIBLE, escaped)}" contains invisible characters, so two different locks could look the same – remove them.`,
      name,
    )
  }
  const [placeholder] = PLACEHOLDER.exec(name) ?? []
  if (placeholder !== undefined) {
    throw invalid(
      `Lock name '${name}' contains '${placeholder}', which nothing replaces, so all calls would share one lock – pass a function that builds the name from the arguments, such as name: (tenant) => \`report-\${tenant}\`.`,
      name,
    )
  }
  // MySQL and SQL Server ignore trailing blanks in comparisons, so two names would be one lock there.
  if (name.trim() !== name) throw invalid(`Lock name '${name}' begins or ends with a blank – trim it.`, name)
  return name
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

/** @returns how long to wait, and the longest interval between two attempts, in milliseconds */
export function checkWait(
  wait: Duration | WaitOptions,
  option: string,
  lockName?: string,
): { readonly atMost: number; readonly interval: number } {
  if (typeof wait !== 'object') return { atMost: checkDuration(lockName, option, wait), interval: 500 }
  const what = optionOf(lockName, option)
  const { atMost, interval = 500 } = checkOptions(
    wait,
    { atMost: aDuration, interval: aDuration },
    what,
    lockName,
    option,
  )
  if (atMost === undefined) throw mustBe(`${option}.atMost`, "a duration such as '1m'", lockName)
  if (interval === 0) throw mustBe(`${option}.interval`, 'a millisecond or more', lockName)
  return { atMost, interval: Math.min(interval, LONGEST_TIMEOUT) }
}

function checkKeepAlive(
  keepAlive: boolean | KeepAliveOptions,
  option: string,
  lockName?: string,
): number | undefined {
  if (typeof keepAlive === 'boolean') return keepAlive ? Infinity : undefined
  if (typeof keepAlive !== 'object' || (keepAlive as unknown) === null)
    throw mustBe(option, "true, false, or an object such as { atMost: '2h' }", lockName)
  const what = optionOf(lockName, option)
  const { atMost = Infinity } = checkOptions(keepAlive, { atMost: aDuration }, what, lockName, option)
  if (atMost === 0) throw mustBe(`${option}.atMost`, 'a millisecond or more', lockName)
  return atMost
}
