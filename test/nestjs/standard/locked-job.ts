import type { Type } from '@nestjs/common'
import { SchedulerLock, SchedulerLockDefaults, type SchedulerLockOptions } from '../../../src/nestjs'

type Task = (...args: string[]) => unknown

/** A class with a method `run`, which has these options and, if there are any, these defaults of its class. */
export function lockedJob(
  task: Task,
  options: SchedulerLockOptions,
  defaults?: Parameters<typeof SchedulerLockDefaults>[0],
): Type<{ run: Task }> {
  class Job {
    @SchedulerLock(options)
    run(...args: string[]): unknown {
      return task(...args)
    }
  }
  if (!defaults) return Job

  @SchedulerLockDefaults(defaults)
  class JobWithDefaults extends Job {}
  return JobWithDefaults
}
