import { Inject, Optional } from '@nestjs/common'
import { LockError } from '../core'
import { LockingTaskExecutors } from './locking-task-executors'

/** Where an instance with locked methods keeps the executors of the application it belongs to. */
const EXECUTORS = Symbol.for('shedlock-orm.executors')

interface Bound {
  [EXECUTORS]?: LockingTaskExecutors | undefined
}

/** Makes Nest inject the executors. Optional, so that a missing module is our own clear error, where a lock is needed. */
export function injectExecutors(prototype: object): void {
  reserveExecutors(prototype)
  Inject(LockingTaskExecutors)(prototype, EXECUTORS)
  Optional()(prototype, EXECUTORS)
}

/** Marks an instance, or the prototype of instances, that has locked methods. */
export function reserveExecutors(target: object): void {
  Object.defineProperty(target, EXECUTORS, { value: undefined, writable: true, configurable: true })
}

/** For instances that Nest did not construct itself: from a factory, a value, or with standard decorators. */
export function bindExecutors(instance: object, executors: LockingTaskExecutors): void {
  ;(instance as Bound)[EXECUTORS] ??= executors
}

export function isMarked(instance: object): boolean {
  return EXECUTORS in instance
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function executorsOf(instance: unknown, method: string): LockingTaskExecutors {
  const executors = (instance as Bound | undefined)?.[EXECUTORS]
  if (executors) return executors
  throw new LockError(
    'INVALID_CONFIGURATION',
    `'${method}' was not run, because it has no lock – import ShedLockModule.forRoot(…) in the application's root module, and let Nest make the object that it is called on.`,
  )
}
