/**
 * NestJS: import `ShedLockModule`, and put `@SchedulerLock` on methods.
 *
 * @module shedlock-orm/nestjs
 */
export type { CronTimeClass, CronTimeLike, LuxonDateTimeLike } from './cron-slot'
export { LeaderElections } from './leader-elections'
export type { LeaderElectionsConfiguration } from './leader-elections'
export { LockingTaskExecutors } from './locking-task-executors'
export { SchedulerLockDefaults } from './scheduler-lock-defaults.decorator'
export type {
  ConfiguredDuration,
  SchedulerLockDefaultsOptions,
  SchedulerLockOptions,
} from './scheduler-lock-options'
export { SchedulerLock } from './scheduler-lock.decorator'
export type { SchedulerLockDecorator } from './scheduler-lock.decorator'
export type {
  LockProviderOfClient,
  LocksStorageClass,
  LocksStorageOption,
  ShedLockModuleAsyncOptions,
  ShedLockModuleOptions,
} from './shed-lock-module-options'
export { ShedLockStore } from './shed-lock-store'
export type { LocksStorageLike, StoreAcquireResult } from './shed-lock-store'
export { SHED_LOCK_OPTIONS, ShedLockModule } from './shed-lock.module'
