/**
 * The core: locks, and running tasks under them. Knows no database.
 *
 * @module shedlock-orm
 */
export { activeLock, assertLocked, extendActiveLock } from './scope'
export type { Duration } from './duration'
export { LockError } from './errors'
export type { LockErrorCode, LockErrorOptions } from './errors'
export { InMemoryLockProvider } from './in-memory-lock-provider'
export type { InMemoryLockProviderOptions } from './in-memory-lock-provider'
export { KeepAliveLockProvider } from './keep-alive-lock-provider'
export type { KeepAliveLockProviderOptions } from './keep-alive-lock-provider'
export type {
  LockEvent,
  LockFailureEvent,
  LockingTaskExecutorListener,
  LockLostEvent,
  LockSkippedEvent,
  TaskFinishedEvent,
} from './listener'
export type {
  ActiveLock,
  LockConfiguration,
  LockHolder,
  LockOptions,
  LockProvider,
  RefusalReason,
  SimpleLock,
} from './lock'
export { leaderElection } from './leader-election'
export type { LeaderCallbacks, LeaderElection, LeaderElectionConfiguration } from './leader-election'
export { loggingListener } from './logging-listener'
export type { LoggerLike } from './logging-listener'
export { LockingTaskExecutor } from './locking-task-executor'
export type { LockingTaskExecutorOptions, ShutdownOptions } from './locking-task-executor'
export type {
  Task,
  TaskConfiguration,
  TaskContext,
  TaskResult,
  WrapConfiguration,
} from './task-configuration'
export { TrackingLockProvider } from './tracking-lock-provider'
export { WaitingLockProvider } from './waiting-lock-provider'
export type { WaitingLockProviderOptions } from './waiting-lock-provider'

export type { Refusal, SkipReason } from './refusal'

// For those who write a provider of their own.
export { LONGEST_TIMEOUT } from './timers'
export { milliseconds } from './duration'
export { later, Lease } from './lease'
export type { Clock } from './lease'
export {
  checkDuration,
  checkLockConfiguration,
  checkLockName,
  checkOptions,
  slotTooFarAhead,
} from './lock-configuration'
export type { CheckedLockConfiguration } from './lock-configuration'
export type { Acquisition } from './lock'
export { simpleLock } from './simple-lock'
export { slotOf } from './slot-of'
export type { CronLike } from './slot-of'

/** @internal for `shedlock-orm/testing` */
export { makeAllAssertsPass } from './scope'
/** @internal for `shedlock-orm/sql` */
export { recogniseEveryCopy } from './every-copy'
/** @internal for `shedlock-orm/sql` */
export { askAgain } from './ask-again'
/** @internal for `shedlock-orm/sql` */
export { keepsNothingAlive } from './timers'
/** @internal for `shedlock-orm/node-cron` and `shedlock-orm/nestjs` */
export { heldLockOf } from './simple-lock'
/** @internal for `shedlock-orm/nestjs` */
export { whenOver } from './timers'
/** @internal for `shedlock-orm/nestjs` */
export { TIMER_EARLY } from './slot-of'
/** @internal for `shedlock-orm/sql` */
export { SLOT_AT_MOST_AHEAD } from './lock-configuration'
/** @internal for `shedlock-orm/node-cron` */
export { checkListeners, notify } from './listener'
/** @internal for `shedlock-orm/node-cron` */
export type { EventOf } from './listener'
/** @internal for `shedlock-orm/node-cron` */
export { RunsInFlight } from './runs-in-flight'
