import { aDuration, aLease, isTemporal } from './duration'
import { configurationError, INVISIBLE, optionOf, printable } from './errors'
import type { LockEvent } from './listener'
import type { CheckedLockConfiguration, Duration, LockConfiguration, Skip } from './lock'
import {
  aBoolean,
  aSignal,
  parseOptions,
  optionError,
  type ParsedOptions,
  type OptionParsers,
} from './options'
import { parseSlot, RETRY_STEPS } from './slots'

/** A checked lock configuration, and how to acquire the lock. Durations are in milliseconds. */
export interface LockRequest {
  readonly configuration: CheckedLockConfiguration
  readonly wait?: { readonly atMost: number; readonly interval: number } | undefined
  /** Whether to keep the lock alive, and for how long at most. */
  readonly keepAlive?: false | { readonly atMost?: number | undefined } | undefined
  readonly signal?: AbortSignal | undefined
  readonly onSkip?: TaskConfiguration['onSkip']
}

/** A lock configuration for a task. Durations that it does not set are the executor's defaults. */
export interface TaskConfiguration extends Omit<LockConfiguration, 'lockAtMostFor'> {
  /** As in a lock configuration. Default: the executor's `defaultLockAtMostFor`. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default: the executor's `defaultLockAtLeastFor`, which is 0 unless you set it. */
  readonly lockAtLeastFor?: Duration | undefined
  /**
   * What to do when the task is skipped: a function to call, or `'throw'` to reject with a `LockError` `SKIPPED` or
   * `SHUTDOWN`. Default: the call only resolves to `{ executed: false, reason }`, that of a NestJS method to `undefined`.
   */
  readonly onSkip?: 'throw' | ((event: LockEvent & Skip) => unknown) | undefined
}

/** Durations in milliseconds, for configurations that do not set them. */
export interface DefaultDurations {
  readonly lockAtMostFor?: number | undefined
  readonly lockAtLeastFor?: number | undefined
}

/** The documented column is `varchar(64)`; MySQL without strict mode would silently cut a longer name. */
const MAX_NAME_LENGTH = 64
/** Spring replaces such placeholders in a name: `#{#tenant}` and `${tenant}`. */
const PLACEHOLDER = /[$#]\{[^}]*\}/

export const LOCK_OPTIONS = {
  name: parseLockName,
  lockAtMostFor: aLease,
  lockAtLeastFor: aDuration,
  slot: parseSlot,
  untilSucceeded: aBoolean,
  wait: parseWait,
  keepAlive: parseKeepAlive,
  signal: aSignal,
} satisfies OptionParsers<LockConfiguration>

/**
 * Refuses a configuration that can never work, so that it fails at start-up and not at 3 a.m.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseLockConfiguration(configuration: LockConfiguration): LockRequest {
  return lockRequest(parseOptions(configuration, LOCK_OPTIONS, 'lock configuration', nameOf(configuration)))
}

/**
 * Checks the options that depend on each other.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function lockRequest({
  // A name that was set has been parsed.
  name = parseLockName(undefined),
  lockAtMostFor,
  lockAtLeastFor = 0,
  slot,
  untilSucceeded = false,
  wait,
  keepAlive,
  signal,
  onSkip,
  ...others
}: ParsedOptions<TaskConfiguration, typeof TASK_OPTIONS>): LockRequest {
  if (lockAtMostFor === undefined) {
    throw configurationError(
      `Lock '${name}' has no lockAtMostFor – set it, for example to '10m', in its configuration or as defaultLockAtMostFor.`,
      name,
    )
  }
  if (untilSucceeded && slot === undefined)
    throw configurationError(
      `untilSucceeded of lock '${name}' needs a slot – set slot to the time at which the run was due.`,
      name,
    )
  checkLease(name, lockAtMostFor, lockAtLeastFor)
  const configuration = {
    name,
    lockAtMostFor,
    lockAtLeastFor,
    ...(slot !== undefined && { slot: untilSucceeded ? slot - (slot % RETRY_STEPS) : slot }),
    ...(untilSucceeded && { untilSucceeded: true as const }),
  }
  // An option that is left out above would be dropped silently, so it does not compile.
  others satisfies Record<string, never>
  return { configuration: Object.freeze(configuration), wait, keepAlive, signal, onSkip }
}

export const TASK_OPTIONS = {
  ...LOCK_OPTIONS,
  onSkip: parseOnSkip,
} satisfies OptionParsers<TaskConfiguration> &
  Readonly<Record<string, (...value: never) => boolean | number | string | object>>

/** @throws LockError `INVALID_CONFIGURATION` */
export function parseTaskConfiguration(
  configuration: TaskConfiguration,
  defaults: DefaultDurations,
): LockRequest {
  const parsed = parseOptions(configuration, TASK_OPTIONS, 'lock configuration', nameOf(configuration))
  return lockRequest({ ...defaults, ...parsed })
}

function parseOnSkip<Value>(value: Value, option: string, lockName?: string): Value {
  if (value === 'throw' || typeof value === 'function') return value
  throw optionError(option, "'throw' or a function", lockName)
}

/**
 * Checks the task before a lock is acquired. @throws LockError `INVALID_CONFIGURATION`, for example for the promise that a call
 * returned
 */
export function checkTask(task: unknown, lockName?: string): void {
  if (typeof task === 'function') return
  throw configurationError(
    'The task is not a function – pass the function itself, not what it returns.',
    lockName,
  )
}

/** What a task may return although its work has not ended, or has not even begun, by its methods, and what to do instead. */
const UNFINISHED: readonly (readonly [what: string, cure: string, ...methods: string[]])[] = [
  ['a function', 'call it', 'apply', 'bind'],
  ['an Observable', 'return lastValueFrom(observable)', 'subscribe'],
  ['a generator', 'iterate over it in the task', 'next', 'throw'],
  ['a query', 'return the promise of its execute()', 'execute', 'getQuery'],
  ['a query', 'return the promise of its execute()', 'execute', 'compile'],
  ['a process', 'return a promise of its end', 'kill', 'unref'],
  ['a worker', 'return a promise of its end', 'terminate', 'postMessage'],
  ['a timer', 'return a promise of node:timers/promises', 'refresh', 'hasRef'],
]

/**
 * Checks what a task has returned, and returns it. @throws LockError `INVALID_CONFIGURATION` for a value whose work goes on, because the lock is
 * released now
 */
export function checkFinished<T>(value: T, lockName: string): T {
  // Nearly every task.
  if (Object(value) !== value) return value
  const has = (object: unknown, method: string): boolean =>
    typeof (object as Readonly<Record<string, unknown>> | null | undefined)?.[method] === 'function'
  const [what, cure] =
    Array.isArray(value) && has(value[0], 'then')
      ? ['promises in an array', 'return Promise.all(promises)']
      : (UNFINISHED.find(([, , ...methods]) => methods.every((method) => has(value, method))) ?? [])
  if (what === undefined) return value
  throw configurationError(
    `The task of lock '${lockName}' returned ${what}, whose work is not done when the lock is released – ${cure}.`,
    lockName,
  )
}

/** Returns the lock's name if it is a string, for errors about other options. */
export function nameOf(configuration: { readonly name?: unknown } | undefined): string | undefined {
  const name = (configuration as { name?: unknown } | null | undefined)?.name
  return typeof name === 'string' ? name : undefined
}

/** @throws LockError `INVALID_CONFIGURATION` if these durations, in milliseconds, cannot be those of one lock */
export function checkLease(name: string, lockAtMostFor: number, lockAtLeastFor: number): void {
  if (lockAtLeastFor > lockAtMostFor) {
    throw configurationError(
      `lockAtLeastFor of lock '${name}' (${lockAtLeastFor} ms) is longer than its lockAtMostFor (${lockAtMostFor} ms) – shorten it, or make lockAtMostFor longer.`,
      name,
      'lockAtLeastFor',
    )
  }
}

/**
 * Returns the name if every database can store it and people can read it: 1 to 64 characters, no control or invisible characters,
 * no placeholder that nothing replaces, no blank at either end.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseLockName(name: unknown): string {
  if (typeof name !== 'string' || name === '')
    throw configurationError('A lock has no name – set name to a string that is not empty.')
  if (name.length > MAX_NAME_LENGTH) {
    throw configurationError(
      `Lock name '${name}' has ${name.length} characters, but its column holds only ${MAX_NAME_LENGTH} – shorten it.`,
      name,
    )
  }
  if (name.search(INVISIBLE) >= 0) {
    throw configurationError(
      `Lock name "${printable(name)}" contains invisible characters, control characters or lone surrogates – use plain text.`,
      name,
    )
  }
  const [placeholder] = PLACEHOLDER.exec(name) ?? []
  if (placeholder !== undefined) {
    throw configurationError(
      `Lock name '${name}' contains '${placeholder}', which nothing replaces, so all calls would share one lock – pass a function that builds the name from the arguments, such as name: (tenant) => \`report-\${tenant}\`.`,
      name,
    )
  }
  // MySQL and SQL Server ignore trailing blanks in comparisons, so two names would be one lock there.
  if (name.trim() !== name)
    throw configurationError(`Lock name '${name}' begins or ends with a blank – trim it.`, name)
  return name
}

/** @returns how long to wait, and the longest interval between two attempts, in milliseconds */
export function parseWait(
  wait: NonNullable<LockConfiguration['wait']>,
  option: string,
  lockName?: string,
): { readonly atMost: number; readonly interval: number } {
  if (typeof wait !== 'object' || isTemporal(wait))
    return { atMost: aDuration(wait, option, lockName), interval: 500 }
  const what = optionOf(option, lockName)
  const { atMost, interval = 500 } = parseOptions(
    wait,
    { atMost: aDuration, interval: aDuration },
    what,
    lockName,
    option,
  )
  if (atMost === undefined) throw optionError(`${option}.atMost`, "a duration such as '1m'", lockName)
  if (interval === 0) throw optionError(`${option}.interval`, 'a millisecond or more', lockName)
  return { atMost, interval }
}

function parseKeepAlive(
  keepAlive: NonNullable<LockConfiguration['keepAlive']>,
  option: string,
  lockName?: string,
): false | { readonly atMost?: number | undefined } {
  if (typeof keepAlive === 'boolean') return keepAlive && {}
  if (typeof keepAlive !== 'object' || (keepAlive as unknown) === null)
    throw optionError(option, "true, false, or an object such as { atMost: '2h' }", lockName)
  const what = optionOf(option, lockName)
  const parsed = parseOptions(keepAlive, { atMost: aDuration }, what, lockName, option)
  if (parsed.atMost === 0) throw optionError(`${option}.atMost`, 'a millisecond or more', lockName)
  return parsed
}
