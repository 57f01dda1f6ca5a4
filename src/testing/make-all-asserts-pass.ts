import { makeAllAssertsPass as switchAsserts } from '../core'

/**
 * Lets every `assertLocked()` of this process pass, or stops that: for a whole test file. Calling it twice does no more
 * than calling it once.
 *
 * ```ts
 * beforeAll(() => makeAllAssertsPass(true))
 * afterAll(() => makeAllAssertsPass(false))
 * ```
 */
export function makeAllAssertsPass(pass: boolean): void {
  switchAsserts(pass)
}
