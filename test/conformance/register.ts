import { it } from '@jest/globals'
import type { SuiteCase } from '../../src/testing'

/** Makes a case of the suite a test. One that cannot run says why in its title. */
export function register({ title, skip, run }: SuiteCase): void {
  if (skip === undefined) it(title, run)
  else it.skip(`${title} (${skip})`, run)
}

/** These leave no connection to others: leases beside them would end before they are answered. */
const BUSY = /\b(workers|contenders|200 locks)\b/

/** The same, beside others: most of the time of a case is spent waiting, for a lease to end. */
export function registerConcurrently(one: SuiteCase): void {
  if (one.skip !== undefined || BUSY.test(one.title)) register(one)
  else it.concurrent(one.title, one.run)
}

/** Spanner's emulator aborts all transactions but one, and PGlite answers one statement at a time, in the process of the tests. */
const ONE_AT_A_TIME = ['spanner', 'pglite']

/** How the cases of a backend are registered. */
export function registerOn(backend: string): (one: SuiteCase) => void {
  return ONE_AT_A_TIME.includes(backend) ? register : registerConcurrently
}
