/**
 * NestJS: import `ShedLockModule`, and put `@SchedulerLock` on methods.
 *
 * @module shedlock-orm/nestjs
 */
export { LockingTaskExecutors } from './locking-task-executors'
export type { SchedulerLockOptions } from './scheduler-lock-options'
export { SchedulerLock, SchedulerLockDefaults } from './scheduler-lock.decorator'
export type { ShedLockModuleOptions } from './shed-lock-module-options'
export { SHED_LOCK_OPTIONS, ShedLockModule } from './shed-lock.module'
