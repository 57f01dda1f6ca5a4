import {
  parseLockName,
  checkTask,
  lockRequest,
  nameOf,
  TASK_OPTIONS,
  type DefaultDurations,
  type TaskConfiguration,
} from './configuration'
import { sharedByEveryCopy } from './copies'
import { configurationError, warn } from './errors'
import type { Task, TaskResult } from './lock'
import { callByHand, runWithoutLock, type CallByHand } from './scope'
import { aFunction, parseOptions, optionError, type OptionParsers } from './options'
import { timeOf } from './slots'

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
   * A function that derives the slot, the time at which the run was due, from the arguments that the scheduler passes: `slotOf` with
   * node-cron 4. If it returns nothing, the call is refused; `runNow` does not call it. Instances whose schedules differ have
   * different slots, and all of them run: set `lockAtLeastFor` there, such as `'59m'` for one run an hour. Default: no slots.
   */
  readonly slot?: ((this: This, ...args: Arguments) => NonNullable<TaskConfiguration['slot']>) | undefined
  /**
   * Called with every error, including those of the task. The wrapped function then never rejects, and resolves to `undefined`. Set
   * it if a rejection would crash the process, as with `setInterval` and croner.
   */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

const WRAP_OPTIONS = {
  ...TASK_OPTIONS,
  name: parseNameOrFunction,
  slot: parseSlotFunction,
  onError: aFunction,
} satisfies OptionParsers<WrapConfiguration>

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
  const { name, slot, onError, ...rest } = parseWrapConfiguration(
    configuration as WrapConfiguration,
    defaults,
  ) as WrapConfiguration<This, Arguments>
  checkTask(task, nameOf(configuration))
  return async function (this: This, ...args: Arguments) {
    try {
      const lockName = typeof name === 'function' ? name.apply(this, args) : name
      const result = await executeJob(
        { ...rest, name: lockName },
        slot && (() => parseDue(slot.apply(this, args), lockName)),
        (call) => execute(call, () => task.apply(this, args)),
      )
      return onError ? undefined : result
    } catch (error) {
      if (!onError) throw error
      // With `onError` the function must never reject, even if the handler itself fails.
      await Promise.resolve(error).then(onError).catch(warn)
      return undefined
    }
  }
}

/** Returns the options, own or inherited, in the form that the executor uses. */
function parseWrapConfiguration(configuration: WrapConfiguration, defaults: DefaultDurations): unknown {
  const { name } = (configuration as WrapConfiguration | null | undefined) ?? {}
  const anyName = typeof name === 'function' ? 'made from arguments' : name
  const parsed = parseOptions(configuration, WRAP_OPTIONS, 'lock configuration', anyName)
  const { untilSucceeded, slot, lockAtLeastFor } = { ...defaults, ...parsed }
  if (untilSucceeded && !slot)
    throw configurationError(
      `untilSucceeded of lock '${anyName}' needs slots – set slot to a function that returns the time at which the run was due.`,
      anyName,
    )
  lockRequest({ ...defaults, ...parsed, name: anyName, slot: undefined, untilSucceeded: false })
  if (!slot && lockAtLeastFor === undefined) warnOfRepeatedRuns(name ?? anyName)
  return parsed
}

/** The names that this process has warned of. */
const warned = sharedByEveryCopy('repeated-runs', () => new Set<string>())

/** Warns once for each name, when the job is declared, because a test with one instance does not show what is missing. */
function warnOfRepeatedRuns(name: unknown): void {
  const text = String(name).replace(/\s+/g, ' ')
  if (warned.has(text)) return
  warned.add(text)
  process.emitWarning(
    `Lock '${text}' has neither slot nor lockAtLeastFor, so a short run may be repeated: the timers of two processes differ, and the later one finds the lock free again – set slot (for @Cron in NestJS: cronTime of ShedLockModule), or lockAtLeastFor, for example to '1m', or to 0 if repeated runs do no harm.`,
    { code: 'SHEDLOCK_NO_SLOT' },
  )
}

/** Accepts a name, or a function that builds it from the arguments of a call. */
export function parseNameOrFunction(name: unknown): unknown {
  return typeof name === 'function' ? name : parseLockName(name)
}

function parseSlotFunction<Value>(slot: Value, option: string, lockName?: string): Value {
  if (typeof slot === 'function') return slot
  throw optionError(option, 'a function here, because every call has its own slot', lockName)
}

/** The value of a job that is run by hand. A wrapped function returns a `TaskResult`, so unwrap its `value`. */
type ValueOf<T> = [T] extends [TaskResult<infer Value>] ? Value : T

/**
 * Runs a job by hand: under its lock but without its slot, so that it runs even if its last slot has already run.
 *
 * ```ts
 * const result = await runNow(() => reports.nightly())
 * if (!result.executed) console.log(`not run: ${result.reason}`) // held: it runs, is paused, or its lock has not expired
 * ```
 *
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, or something that calls one of these, such as a
 *   scheduler's own `trigger()`. Slots still apply to everything else: what the job itself calls, what the call leaves running when
 *   it ends, and what runs inside `executeWithLock`, `executeOnce` and leader elections.
 * @returns `{ executed: true, value }`, or `{ executed: false, reason }`, as the job does
 * @throws what the job throws, even if it has `onError`; LockError `SKIPPED` or `SHUTDOWN` if it is skipped and has
 *   `onSkip: 'throw'`; LockError `INVALID_CONFIGURATION` if the call ended without reaching a job
 */
export async function runNow<T>(call: () => T): Promise<TaskResult<ValueOf<Awaited<T>>>> {
  const byHand: CallByHand = { isOpen: true }
  try {
    await runWithoutLock({ byHand }, call)
  } finally {
    byHand.isOpen = false
  }
  if (byHand.result) return byHand.result as Promise<TaskResult<ValueOf<Awaited<T>>>>
  throw configurationError(
    'runNow found no job to run, and what it called is done – pass a function that calls a wrapped function, or a method with @SchedulerLock.',
  )
}

/**
 * Returns what the slot function of a job has returned. If that is nothing, the call must not become one without a slot.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function parseDue(
  due: TaskConfiguration['slot'] | null,
  lockName: string,
): NonNullable<TaskConfiguration['slot']> {
  if (due != null && !Number.isNaN(timeOf(due))) return due
  throw configurationError(
    `'${lockName}' was called without a due time, so it did not run: its slot function returned no time – pass the due time or, if a person or other code started this run instead of the scheduler, call runNow(() => …).`,
    lockName,
  )
}

/**
 * Executes one call of a job. If `runNow` has called it, the job runs without its slot, and `runNow` returns its result.
 *
 * @param due returns the slot of this call; not called if `runNow` has called the job
 * @param execute gets the configuration of this call
 */
export function executeJob<T>(
  configuration: TaskConfiguration,
  due: (() => TaskConfiguration['slot']) | undefined,
  execute: (configuration: TaskConfiguration) => Promise<TaskResult<T>>,
): Promise<TaskResult<T>> {
  const byHand = callByHand()
  const isByHand = byHand?.isOpen === true
  if (isByHand) byHand.isOpen = false
  const result = execute(
    isByHand ? { ...configuration, untilSucceeded: undefined } : { ...configuration, slot: due?.() },
  )
  if (isByHand) byHand.result = result
  return result
}
