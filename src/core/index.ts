/**
 * Locks, and executors that run tasks under them. This entry point contains no database: lock providers come from
 * `shedlock-orm/typeorm`, `shedlock-orm/prisma` or `shedlock-orm/sql`, or you write one for a storage that is not a SQL database.
 *
 * @module shedlock-orm
 */
export {
  activeLock,
  assertLocked,
  executeOnce,
  InMemoryLockProvider,
  leaderElection,
  Lease,
  LockError,
  LockingTaskExecutor,
  LockProvider,
  loggingListener,
  runNow,
  slotOf,
  tokenOfRetry,
} from './internal'
export type {
  Acquisition,
  ActiveLock,
  CheckedLockConfiguration,
  CronLike,
  CronTimeLike,
  Due,
  Duration,
  ExecuteOnceConfiguration,
  Job,
  LeaderElection,
  LeaderElectionConfiguration,
  Lock,
  LockConfiguration,
  LockErrorCode,
  LockEvent,
  LockFailureEvent,
  LockingTaskExecutorListener,
  LockingTaskExecutorOptions,
  NodeCronContextLike,
  Refusal,
  ShutdownOptions,
  Skip,
  Task,
  TaskConfiguration,
  TaskContext,
  TaskFinishedEvent,
  TaskResult,
  WrapConfiguration,
} from './internal'
