import { AsyncLocalStorage } from 'node:async_hooks'
import { sharedByEveryCopy } from './copies'
import { invalid } from './errors'
import { withSlot, type TaskConfiguration } from './configuration'
import type { TaskResult } from './lock'

/** A call of `runNow`. The first job that it reaches runs without its slot. */
interface CallByHand {
  /**
   * Whether the call has yet to reach its job. False once the call has ended, because a timer that it left running still sees this
   * object.
   */
  isOpen: boolean
  result?: Promise<TaskResult<unknown>>
}

const calls = sharedByEveryCopy('calls-by-hand.2', () => new AsyncLocalStorage<CallByHand | undefined>())

/** The value of a job that is run by hand. A wrapped function returns a `TaskResult`, so unwrap its `value`. */
type ValueOf<T> = [T] extends [TaskResult<infer Value>] ? Value : T

/**
 * Runs a job by hand: under its lock but without its slot, so that it runs even if its last slot has already run.
 *
 * ```ts
 * const result = await runNow(() => reports.nightly())
 * if (!result.executed) console.log(`not run: ${result.reason}`) // held: it is running now, here or elsewhere
 * ```
 *
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, `executeWithLock`, or something that calls one of
 *   these, such as a scheduler's own `trigger()`. Slots still apply to everything else: what the job itself calls, what the call
 *   leaves running when it ends, `executeOnce`, and leader elections.
 * @returns `{ executed: true, value }`, or `{ executed: false, reason }`, as `executeWithLock` does
 * @throws what the job throws, even if it has `onError`; LockError `NOT_ACQUIRED` or `SHUTDOWN` if it is skipped and has
 *   `onNotAcquired: 'throw'`; LockError `INVALID_CONFIGURATION` if the call ended without reaching a job
 */
export async function runNow<T>(call: () => T): Promise<TaskResult<ValueOf<Awaited<T>>>> {
  const byHand: CallByHand = { isOpen: true }
  try {
    await calls.run(byHand, call)
  } finally {
    byHand.isOpen = false
  }
  if (byHand.result) return byHand.result as Promise<TaskResult<ValueOf<Awaited<T>>>>
  throw invalid(
    'runNow found no job to run – pass a function that calls a wrapped function, or a method with @SchedulerLock.',
  )
}

/** Executes a task. If it is the job of a `runNow` call, it runs without its slot, and `runNow` returns its result. */
export function executeByHand<T>(
  configuration: TaskConfiguration,
  execute: (configuration: TaskConfiguration) => Promise<TaskResult<T>>,
): Promise<TaskResult<T>> {
  const byHand = calls.getStore()
  if (!byHand?.isOpen) return execute(configuration)
  byHand.isOpen = false
  const result = execute(withSlot(configuration, undefined))
  byHand.result = result
  return result
}

/** Hides work from `runNow`, because the tasks of this package's own executors are not the user's jobs. */
export function notByHand<T>(work: () => T): T {
  return calls.run(undefined, work)
}
