/**
 * Testing: run your jobs without a database, and test your own lock provider with the suite that all of ours pass.
 *
 * @module shedlock-orm/testing
 */
export { InMemoryLockProvider, makeAllAssertsPass } from '../core/internal'
export type {
  CallerTransaction,
  Counter,
  LockProviderEnvironment,
  LockRow,
  SqlLockProviderEnvironment,
  TableNames,
} from './lock-provider-environment'
export { lockProviderSuite, sqlLockProviderSuite } from './lock-provider-suite'
export type { SuiteCase, SuiteOptions } from './lock-provider-suite'
export { alwaysFree, assertFree, assertHeld, assumeLocked, FakeClock } from './unit-test-support'
