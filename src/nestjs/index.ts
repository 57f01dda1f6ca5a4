/**
 * NestJS: import `ShedLockModule`, and put `@SchedulerLock` on methods.
 *
 * @module shedlock-orm/nestjs
 */
export { LockingTaskExecutors } from './locking-task-executors'
export { SchedulerLockDefaults } from './scheduler-lock-defaults.decorator'
export type { SchedulerLockDefaultsOptions, SchedulerLockOptions } from './scheduler-lock-options'
export { SchedulerLock } from './scheduler-lock.decorator'
export type { SchedulerLockDecorator } from './scheduler-lock.decorator'
export type { ShedLockModuleAsyncOptions, ShedLockModuleOptions } from './shed-lock-module-options'
export { ShedLockModule } from './shed-lock.module'
