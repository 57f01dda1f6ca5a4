/** One test, for whichever test runner you have. */
export interface SuiteCase {
  readonly title: string
  /** Why it cannot be run here; `undefined` when it can. */
  readonly skip: string | undefined
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

/** @param reasons why the environment lacks an ability */
export function bindCases<Environment extends object>(
  definitions: readonly CaseDefinition<Environment>[],
  environment: Environment,
  reasons: Partial<Record<OptionalAbility<Environment>, string>> = {},
): SuiteCase[] {
  const skip = ({ needs = [] }: CaseDefinition<Environment>): string | undefined => {
    const missing = needs.find((ability) => environment[ability] === undefined)
    return missing && (reasons[missing] ?? `the environment has no ${missing}`)
  }
  return definitions.map((definition) => ({
    title: definition.title,
    skip: skip(definition),
    run: () => definition.run(environment as Required<Environment>),
  }))
}
