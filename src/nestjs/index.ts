/**
 * NestJS: import `ShedLockModule`, and put `@SchedulerLock` on methods.
 *
 * @module shedlock-orm/nestjs
 */
export type { CronTimeClass } from './cron-slot'
export { LockingTaskExecutors } from './locking-task-executors'
export type {
  ConfiguredDuration,
  SchedulerLockDefaultsOptions,
  SchedulerLockOptions,
} from './scheduler-lock-options'
export { SchedulerLock, SchedulerLockDefaults } from './scheduler-lock.decorator'
export type { SchedulerLockDecorator } from './scheduler-lock.decorator'
export type { ShedLockModuleAsyncOptions, ShedLockModuleOptions } from './shed-lock-module-options'
export { SHED_LOCK_OPTIONS, ShedLockModule } from './shed-lock.module'
