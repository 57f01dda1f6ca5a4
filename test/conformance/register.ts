import { it } from '@jest/globals'
import type { SqlSuiteCase } from './sql-lock-provider-suite'

/** Registers a case of a suite as a test. If it cannot run, the title of the skipped test says why. */
export function register({ title, skip, run }: SqlSuiteCase): void {
  if (skip === undefined) it(title, run)
  else it.skip(`${title} (${skip})`, run)
}

/** Run these alone: they use every connection, so leases of parallel cases would expire while they wait. */
const BUSY = /\b(workers|contenders|200 acquisitions)\b/

/** Registers a case beside others, because most of its time is spent waiting for a lease to end. */
export function registerConcurrently(one: SqlSuiteCase): void {
  if (one.skip !== undefined || BUSY.test(one.title)) register(one)
  else it.concurrent(one.title, one.run)
}

/** Spanner's emulator aborts all transactions but one, and PGlite answers one statement at a time, in the process of the tests. */
const ONE_AT_A_TIME = ['spanner', 'pglite']

/** Returns how the cases of a backend are registered. */
export function registerOn(backend: string): (one: SqlSuiteCase) => void {
  return ONE_AT_A_TIME.includes(backend) ? register : registerConcurrently
}
