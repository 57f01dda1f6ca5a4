import type { LoggerService } from '@nestjs/common'
import { LockError } from '../core'
import type { LockingTaskExecutors } from './locking-task-executors'
import type { SchedulerLockOptions } from './scheduler-lock-options'

/** A method that asks at the application's start whether it was run when it was due last. */
export interface CatchUp {
  readonly instance: object
  readonly method: string
}

/** @throws LockError `INVALID_CONFIGURATION` when the method has no slots, so that it would run at every start */
export function checkCatchUp(
  { instance, method }: CatchUp,
  { slot }: SchedulerLockOptions,
  executors: LockingTaskExecutors,
): void {
  const locked = (instance as Record<string, object>)[method]
  const hasSlots = slot === undefined ? locked && executors.slotOf(locked) !== undefined : slot !== false
  if (!hasSlots)
    throw new LockError(
      'INVALID_CONFIGURATION',
      `${nameOf({ instance, method })} cannot catch up, because it has no slots – leave catchUp out, or give it a @Cron expression and cronTime to ShedLockModule.forRoot.`,
    )
}

/** Runs the method for the time at which it was due last, unless some instance did. Never rejects. */
export async function catchUp(missed: CatchUp, logger: LoggerService): Promise<void> {
  const { instance, method } = missed
  try {
    await (instance as Record<string, () => unknown>)[method]?.()
  } catch (error) {
    logger.error(`${nameOf(missed)} failed when it caught up`, error instanceof Error ? error.stack : error)
  }
}

function nameOf({ instance, method }: CatchUp): string {
  return `${instance.constructor.name}.${method}`
}
