import { configurationError, optionOf, type LockError } from './errors'

/**
 * Parses one option: returns its value in the form that the code uses, such as a duration in milliseconds. An option of a lock must
 * accept that form too, because `wrap` and `@SchedulerLock` pass it to the executor, which parses it again. That form is never
 * `undefined`, which would count as absent there: a default would replace what was set.
 *
 * @param option its name, for the error
 * @param lockName the lock that the option belongs to, if any, for the error
 * @throws LockError `INVALID_CONFIGURATION`
 */
export type OptionParser<Value> = (value: Value, option: string, lockName?: string) => unknown

/** A parser for each option of an object: a missing or a superfluous one does not compile. */
export type OptionParsers<Options> = {
  readonly [Key in keyof Options]-?: OptionParser<Exclude<Options[Key], undefined>>
}

/**
 * What the parsers return, for the options that were set. If one declares no return type of its own, the option keeps its type.
 */
export type ParsedOptions<Options, Parsers> = {
  readonly [Key in keyof Options]?:
    | (Parsers[Key & keyof Parsers] extends (...all: never[]) => infer Value
        ? unknown extends Value
          ? Exclude<Options[Key], undefined>
          : Value
        : never)
    | undefined
}

/**
 * Parses an object of options. Refuses unknown options, because a misspelt one would silently have no effect. An option that is
 * undefined counts as absent.
 *
 * @param what the name of the object, for the error
 * @param lockName the lock that the options belong to, if any, for the error
 * @param outer the option whose value this object is, for the error
 * @returns the parsed values
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseOptions<Options extends object, Parsers extends OptionParsers<Options>>(
  options: Options,
  parsers: Parsers & OptionParsers<Options>,
  what: string,
  lockName?: string,
  outer?: string,
): ParsedOptions<Options, Parsers> {
  const known = Object.keys(parsers)
  if (typeof options !== 'object' || (options as unknown) === null)
    throw configurationError(`The ${what} must be an object; its options are ${known.join(', ')}.`, lockName)
  const unknown: string[] = []
  // Inherited options count as well.
  for (const key in options) if (!known.includes(key)) unknown.push(key)
  if (unknown.length > 0) {
    throw configurationError(
      `Unknown option ${unknown.map((key) => `'${key}'`).join(', ')} in the ${what} – the known options are ${known.join(', ')}.`,
      lockName,
    )
  }
  const parsed: Record<string, unknown> = {}
  for (const key of known) {
    const value = (options as Record<string, unknown>)[key]
    const parse = (parsers as unknown as Record<string, OptionParser<unknown>>)[key]
    const option = outer === undefined ? key : `${outer}.${key}`
    if (value !== undefined) parsed[key] = parse?.(value, option, lockName)
  }
  return parsed as ParsedOptions<Options, Parsers>
}

/** Creates the error for an option with a wrong value. */
export function optionError(option: string, requirement: string, lockName?: string): LockError {
  return configurationError(`${optionOf(option, lockName)} must be ${requirement}.`, lockName)
}

// The parsers below are shared by several objects of options.

/** Creates a parser from a condition and its words. */
function requiring<Type>(is: (value: unknown) => value is Type, requirement: string) {
  return <Value>(value: Value, option: string, lockName?: string): Value & Type => {
    if (is(value)) return value
    throw optionError(option, requirement, lockName)
  }
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
export const aBoolean = requiring((value): value is boolean => typeof value === 'boolean', 'true or false')
export const aFunction = requiring((value): value is unknown => typeof value === 'function', 'a function')
export const aCount = requiring(
  (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  'a whole number, 0 or more',
)
export const aString = requiring((value): value is string => typeof value === 'string', 'a string')
export const anObject = requiring(isObject, 'an object')
export const anArray = requiring((value): value is unknown => Array.isArray(value), 'an array')
export const aSignal = requiring(
  // `instanceof` would refuse a signal of another realm.
  (value): value is AbortSignal =>
    typeof (value as Partial<AbortSignal> | null)?.throwIfAborted === 'function',
  "an AbortSignal, such as an AbortController's signal",
)
