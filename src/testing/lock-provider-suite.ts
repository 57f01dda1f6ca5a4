import { leaseCases } from './lease-cases'
import { ownershipCases } from './ownership-cases'
import { raceCases } from './race-cases'
import { slotCases } from './slot-cases'
import type { LockProviderEnvironment } from './expectations'

/**
 * Returns the tests that every lock provider must pass, whatever its storage is. Use it if you write your own provider:
 *
 * ```ts
 * const cases = lockProviderSuite({ createProvider: () => new MyLockProvider(), isHeld: (name) => … })
 * for (const { title, run } of cases) test(title, { timeout: 60_000 }, run)
 * ```
 *
 * Each case uses its own lock names, so the cases may run in parallel. Let each take a minute: many wait for a lease to end, for
 * longer than Jest's default of 5 seconds on a busy machine.
 *
 * @returns the title of each test, which is what the provider must do, and a function that rejects with an `AssertionError` if the
 *   provider does not do it
 */
export function lockProviderSuite(environment: LockProviderEnvironment): {
  readonly title: string
  /** Rejects with an `AssertionError` if the provider does not do what the title says. */
  readonly run: () => Promise<void>
}[] {
  const cases = { ...ownershipCases, ...leaseCases, ...slotCases, ...raceCases }
  return Object.entries(cases).map(([title, run]) => ({ title, run: () => run(environment) }))
}
