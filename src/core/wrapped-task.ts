import { invalid, warn } from './errors'
import { checkLockName, lockRequest } from './lock-configuration'
import { aFunction, checkOptions, mustBe, type OptionChecks } from './options'
import {
  checkTask,
  TASK_OPTIONS,
  type DefaultDurations,
  type Task,
  type TaskConfiguration,
  type TaskResult,
} from './task-configuration'

/** A task configuration for `wrap`. */
export interface WrapConfiguration<This = unknown, Arguments extends unknown[] = never[]> extends Omit<
  TaskConfiguration,
  'name' | 'slot'
> {
  /**
   * The lock's name, or a function that builds it from the arguments of a call, for example to have one lock per customer:
   * ``(customer: string) => `report-${customer}` ``.
   */
  readonly name: string | ((this: This, ...args: Arguments) => string)
  /**
   * A function that derives the slot, the time at which the run was due, from the arguments that the scheduler passes. If it
   * returns nothing, the call is refused. Default: no slots.
   */
  readonly slot?: ((this: This, ...args: Arguments) => Date | number) | undefined
  /**
   * Called with every error, including those of the task. The wrapped function then never rejects, and resolves to `undefined`. Set
   * it if a rejection would crash the process, as with `setInterval` and croner.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

const WRAP_OPTIONS = {
  ...TASK_OPTIONS,
  name: checkNameOrFunction,
  slot: checkSlotFunction,
  onError: aFunction,
} satisfies OptionChecks<WrapConfiguration>

/**
 * Turns a task into a function that can be passed to a scheduler; see `LockingTaskExecutor.wrap`.
 *
 * @throws LockError `INVALID_CONFIGURATION` for every mistake that does not depend on the arguments of a call
 */
export function wrappedTask<This, Arguments extends unknown[], T>(
  execute: <T>(configuration: TaskConfiguration, task: Task<T>) => Promise<TaskResult<T>>,
  defaults: DefaultDurations,
  configuration: WrapConfiguration<This, Arguments>,
  task: (this: This, ...args: Arguments) => T | PromiseLike<T>,
): (this: This, ...args: Arguments) => Promise<TaskResult<T> | undefined> {
  checkWrapConfiguration(configuration as WrapConfiguration, defaults)
  const { name, slot, onError, ...rest } = configuration
  checkTask(task, typeof name === 'string' ? name : undefined)
  return async function (this: This, ...args: Arguments) {
    try {
      const lockName = typeof name === 'function' ? name.apply(this, args) : name
      // A slot function that returns nothing must not turn the call into one without a slot. NaN is refused.
      const due = slot && ((slot.apply(this, args) as Date | number | undefined) ?? NaN)
      const ofCall = { ...rest, name: lockName, slot: due }
      const result = await execute(ofCall, () => task.apply(this, args))
      return onError ? undefined : result
    } catch (error) {
      if (!onError) throw error
      // With `onError` the function must never reject, even if the handler itself fails.
      try {
        await onError(error)
      } catch (failure) {
        warn(failure)
      }
      return undefined
    }
  }
}

function checkWrapConfiguration(configuration: WrapConfiguration, defaults: DefaultDurations): void {
  const { name } = (configuration as WrapConfiguration | null | undefined) ?? {}
  const anyName = typeof name === 'function' ? 'made from arguments' : name
  const checked = checkOptions(configuration, WRAP_OPTIONS, 'lock configuration', anyName)
  const { untilSucceeded, slot } = checked
  if (untilSucceeded && !slot)
    throw invalid(
      `untilSucceeded of lock '${anyName}' needs slots – set slot to a function that returns the time at which the run was due.`,
      anyName,
    )
  lockRequest({ ...defaults, ...checked, name: anyName, slot: undefined, untilSucceeded: false })
}

/** Accepts a name, or a function that builds it from the arguments of a call. */
export function checkNameOrFunction(name: unknown): unknown {
  return typeof name === 'function' ? name : checkLockName(name)
}

function checkSlotFunction<Value>(slot: Value, option: string, lockName?: string): Value {
  if (typeof slot === 'function') return slot
  throw mustBe(option, 'a function here, because every call has its own slot', lockName)
}
