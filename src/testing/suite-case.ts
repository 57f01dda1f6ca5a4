import { checkDuration, checkOptions, type Duration } from '../core'

/** One test, for whichever test runner you have. */
export interface SuiteCase {
  readonly title: string
  /** Why it cannot be run here; `undefined` when it can. */
  readonly skip: string | undefined
  /**
   * How many milliseconds it may take, for your runner: `test(title, run, timeLimit)` in Jest, `{ timeout:
   * timeLimit }` in `node:test`. Jest's own limit of 5 seconds is too short on a busy machine.
   */
  readonly timeLimit: number
  /** Rejects with an `AssertionError` when the provider does not keep its promise. */
  readonly run: () => Promise<void>
}

/** The names of what an environment may leave out. */
export type OptionalAbility<Environment> = {
  [Key in keyof Environment]-?: undefined extends Environment[Key] ? Key : never
}[keyof Environment] &
  string

/** A case that is not bound to an environment yet. */
export interface CaseDefinition<Environment> {
  readonly title: string
  /** Without these abilities of the environment it is skipped. */
  readonly needs?: readonly OptionalAbility<Environment>[]
  readonly run: (environment: Required<Environment>) => Promise<void>
}

/** Options of the suites. */
export interface SuiteOptions {
  /** How long each case may take: what it gives as `timeLimit`. Default one minute. */
  readonly timeLimit?: Duration | undefined
}

/** @param reasons why the environment lacks an ability */
export function bindCases<Environment extends object>(
  definitions: readonly CaseDefinition<Environment>[],
  environment: Environment,
  { timeLimit = '1m', ...unknown }: SuiteOptions = {},
  reasons: Partial<Record<OptionalAbility<Environment>, string>> = {},
): SuiteCase[] {
  checkOptions(unknown, ['timeLimit'], 'options of the suite')
  const limit = checkDuration(undefined, 'timeLimit', timeLimit)
  const skip = ({ needs = [] }: CaseDefinition<Environment>): string | undefined => {
    const missing = needs.find((ability) => environment[ability] === undefined)
    return missing && (reasons[missing] ?? `the environment has no ${missing}`)
  }
  return definitions.map((definition) => ({
    title: definition.title,
    skip: skip(definition),
    timeLimit: limit,
    run: () => definition.run(environment as Required<Environment>),
  }))
}
