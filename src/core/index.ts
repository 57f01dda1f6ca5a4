/** The core, for the other folders. What apps see of it is in `app`, and what authors of a storage see in `storage`. */
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

export { askAgain } from './ask-again'
export { milliseconds } from './duration'
export { recogniseEveryCopy, sharedByEveryCopy } from './every-copy'
export { later, Lease, whenOver } from './lease'
export type { Clock } from './lease'
export { checkListeners, notify } from './listener'
export type { EventOf } from './listener'
export type { Acquisition } from './lock'
export {
  checkDuration,
  checkLockConfiguration,
  checkLockName,
  checkOptions,
  SLOT_AT_MOST_AHEAD,
  slotTooFarAhead,
} from './lock-configuration'
export type { CheckedLockConfiguration } from './lock-configuration'
export { RunsInFlight } from './runs-in-flight'
export { makeAllAssertsPass } from './scope'
export { heldLockOf, simpleLock } from './simple-lock'
export { slotOf, TIMER_EARLY } from './slot-of'
export type { CronLike } from './slot-of'
export { LONGEST_TIMEOUT, time } from './time'
export { warn } from './warn'
