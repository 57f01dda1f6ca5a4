import { invalid, optionOf, type LockError } from './errors'

/**
 * Checks one option, and returns its value in the form that the code uses, such as a duration in milliseconds.
 *
 * @param option its name, for the error
 * @param lockName the lock that the option belongs to, if any, for the error
 * @throws LockError `INVALID_CONFIGURATION`
 */
export type OptionCheck<Value> = (value: Value, option: string, lockName?: string) => unknown

/** A check for each option of an object: a missing or a superfluous check does not compile. */
export type OptionChecks<Options> = {
  readonly [Key in keyof Options]-?: OptionCheck<Exclude<Options[Key], undefined>>
}

/**
 * What the checks return, for the options that were set. If a check declares no return type of its own, the option keeps its type.
 */
export type CheckedOptions<Options, Checks> = {
  readonly [Key in keyof Options]?:
    | (Checks[Key & keyof Checks] extends (...all: never[]) => infer Value
        ? unknown extends Value
          ? Exclude<Options[Key], undefined>
          : Value
        : never)
    | undefined
}

/**
 * Checks an object of options. Refuses unknown options, because a misspelt one would silently have no effect. An option that is
 * undefined counts as absent.
 *
 * @param what the name of the object, for the error
 * @param lockName the lock that the options belong to, if any, for the error
 * @param outer the option whose value this object is, for the error
 * @returns the checked values
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkOptions<Options extends object, Checks extends OptionChecks<Options>>(
  options: Options,
  checks: Checks & OptionChecks<Options>,
  what: string,
  lockName?: string,
  outer?: string,
): CheckedOptions<Options, Checks> {
  const known = Object.keys(checks)
  if (typeof options !== 'object' || (options as unknown) === null)
    throw invalid(`The ${what} must be an object; its options are ${known.join(', ')}.`, lockName)
  const unknown: string[] = []
  // Inherited options count as well.
  for (const key in options) if (!known.includes(key)) unknown.push(key)
  if (unknown.length > 0) {
    throw invalid(
      `Unknown option ${unknown.map((key) => `'${key}'`).join(', ')} in the ${what} – the known options are ${known.join(', ')}.`,
      lockName,
    )
  }
  const checked: Record<string, unknown> = {}
  for (const key of known) {
    const value = (options as Record<string, unknown>)[key]
    const check = (checks as unknown as Record<string, OptionCheck<unknown>>)[key]
    const option = outer === undefined ? key : `${outer}.${key}`
    if (value !== undefined) checked[key] = check?.(value, option, lockName)
  }
  return checked as CheckedOptions<Options, Checks>
}

/** Creates the error for an option with a wrong value. */
export function mustBe(option: string, requirement: string, lockName?: string): LockError {
  return invalid(`${optionOf(option, lockName)} must be ${requirement}.`, lockName)
}

// The checks below are shared by several objects of options.

/** Creates a check from a condition and its words. */
function requiring<Type>(is: (value: unknown) => value is Type, requirement: string) {
  return <Value>(value: Value, option: string, lockName?: string): Value & Type => {
    if (is(value)) return value
    throw mustBe(option, requirement, lockName)
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
export const aBoolean = requiring((value): value is boolean => typeof value === 'boolean', 'true or false')
export const aFunction = requiring((value): value is unknown => typeof value === 'function', 'a function')
export const aString = requiring((value): value is string => typeof value === 'string', 'a string')
export const anObject = requiring(isObject, 'an object')
export const anArray = requiring((value): value is unknown => Array.isArray(value), 'an array')
export const aSignal = requiring(
  // `instanceof` would refuse a signal of another realm.
  (value): value is AbortSignal =>
    typeof (value as Partial<AbortSignal> | null)?.throwIfAborted === 'function',
  "an AbortSignal, such as an AbortController's signal",
)
