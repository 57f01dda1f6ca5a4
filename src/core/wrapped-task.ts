import type { Task, TaskConfiguration, TaskResult, WrapConfiguration } from './task-configuration'
import { warn } from './warn'

interface Executor {
  executeWithLock<T>(configuration: TaskConfiguration, task: Task<T>): Promise<TaskResult<T>>
}

/** The task as a function that can be given to a scheduler; `LockingTaskExecutor.wrap` says what it does. */
export function wrappedTask<This, Arguments extends unknown[], T>(
  executor: Executor,
  { name, slot, onError, ...rest }: WrapConfiguration<This, Arguments>,
  task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
): (this: This, ...args: Arguments) => Promise<TaskResult<T> | undefined> {
  return async function (this: This, ...args: Arguments) {
    try {
      const lockName = typeof name === 'function' ? name.apply(this, args) : name
      const configuration = { ...rest, name: lockName, slot: slot?.apply(this, args) }
      const result = await executor.executeWithLock(configuration, () => task.apply(this, args))
      return onError ? undefined : result
    } catch (error) {
      if (!onError) throw error
      await report(error, onError)
      return undefined
    }
  }
}

/** A caller who asked for a promise that never rejects gets one, even if the error handler itself fails. */
async function report(error: unknown, onError: (error: unknown) => unknown): Promise<void> {
  try {
    await onError(error)
  } catch (failure) {
    warn(failure)
  }
}
