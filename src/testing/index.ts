/**
 * Testing: run your jobs without a database, and test your own lock provider with the suite that all of ours pass.
 *
 * @module shedlock-orm/testing
 */
export { makeAllAssertsPass } from '../core/internal'
export type { LockProviderEnvironment } from './expectations'
export { lockProviderSuite } from './lock-provider-suite'
export { alwaysFree, assumeLocked, FakeClock } from './unit-test-support'
