/**
 * Testing: your jobs without a database, and the suite that every lock provider passes.
 *
 * @module shedlock-orm/testing
 */
export { InMemoryLockProvider } from '../core'
export { alwaysFree } from './always-free'
export { assumeLocked } from './assume-locked'
export { FakeClock } from './fake-clock'
export { assertFree, assertHeld } from './lock-assertions'
export type {
  CallerTransaction,
  Counter,
  LockProviderEnvironment,
  LockRow,
  SqlLockProviderEnvironment,
  TableNames,
} from './lock-provider-environment'
export { lockProviderSuite, sqlLockProviderSuite } from './lock-provider-suite'
export type { SuiteCase, SuiteOptions } from './suite-case'
export { makeAllAssertsPass } from './make-all-asserts-pass'
