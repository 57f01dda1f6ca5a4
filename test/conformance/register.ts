import { it } from '@jest/globals'
import type { SuiteCase } from '../../src/testing'

/** Makes a case of the suite a test. One that cannot run says why in its title. */
export function register({ title, skip, run }: SuiteCase): void {
  if (skip === undefined) it(title, run)
  else it.skip(`${title} (${skip})`, run)
}

/** The same, beside others: most of the time of a case is spent waiting, for a lease to end. */
export function registerConcurrently({ title, skip, run }: SuiteCase): void {
  if (skip === undefined) it.concurrent(title, run)
  else it.skip(`${title} (${skip})`, run)
}
