/**
 * The core: locks, and running tasks under them. Knows no database.
 *
 * @module shedlock-orm
 */
export { activeLock, assertLocked, extendActiveLock } from './active-lock'
export type { Duration } from './duration'
export { LockError } from './errors'
export type { LockErrorCode, LockErrorOptions } from './errors'
export { InMemoryLockProvider } from './in-memory-lock-provider'
export type { Clock } from './in-memory-lock-provider'
export { KeepAliveLockProvider } from './keep-alive-lock-provider'
export type { KeepAliveLockProviderOptions } from './keep-alive-lock-provider'
export type {
  LockEvent,
  LockFailureEvent,
  LockingTaskExecutorListener,
  LockLostEvent,
  TaskFinishedEvent,
} from './listener'
export type { ActiveLock, LockConfiguration, LockProvider, SimpleLock } from './lock'
export { LockingTaskExecutor } from './locking-task-executor'
export type { LockingTaskExecutorOptions, ShutdownOptions } from './locking-task-executor'
export type { Task, TaskContext, TaskResult } from './task'
export type { TaskConfiguration, WrapConfiguration } from './task-configuration'
export { TrackingLockProvider } from './tracking-lock-provider'
export { WaitingLockProvider } from './waiting-lock-provider'
export type { WaitingLockProviderOptions } from './waiting-lock-provider'

// For those who write a provider of their own.
export { LONGEST_TIMEOUT } from './alarm'
export { milliseconds } from './duration'
export { Lease } from './lease'
export { checkDuration, checkLockConfiguration, checkLockName, checkOptions } from './lock-configuration'
export type { CheckedLockConfiguration } from './lock-configuration'
export { spendableLock } from './spendable-lock'
export type { LockOperations } from './spendable-lock'

/** @internal for `shedlock-orm/testing` */
export { makeAllAssertsPass } from './active-lock'
/** @internal for `shedlock-orm/node-cron` */
export { RunsInFlight } from './runs-in-flight'
