import { AsyncLocalStorage } from 'node:async_hooks'
import { sharedByEveryCopy } from './copies'
import { invalid } from './errors'
import { withSlot, type TaskConfiguration, type TaskResult } from './task-configuration'

/** A call of `runNow`. The first job that it reaches is the one to run without its slot. */
interface CallByHand {
  /** Whether it still waits for that job. What the call leaves running, such as a timer, keeps this object. */
  isOpen: boolean
  result?: Promise<TaskResult<unknown>>
}

const calls = sharedByEveryCopy('calls-by-hand.2', () => new AsyncLocalStorage<CallByHand | undefined>())

/** The value of a job that is run by hand. A wrapped function returns a `TaskResult`: then it is the value in that. */
type ValueOf<T> = [T] extends [TaskResult<infer Value>] ? Value : T

/**
 * Runs a job by hand: under its lock but without its slot, so that it runs even if the last slot has run already.
 *
 * ```ts
 * const result = await runNow(() => reports.nightly())
 * if (!result.executed) console.log(`not run: ${result.reason}`) // held: it is running now, here or elsewhere
 * ```
 *
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, `executeWithLock`, or something that calls one of
 *   these, such as a scheduler's own `trigger()`. All else keeps its slots: what the job itself calls, what the call leaves running
 *   when it ends, `executeOnce`, and leader elections.
 * @returns `{ executed: true, value }`, or `{ executed: false, reason }`, as `executeWithLock` does
 * @throws what the job throws, even if it has `onError`; LockError `NOT_ACQUIRED` or `SHUTDOWN` if it is skipped and has
 *   `onNotAcquired: 'throw'`; LockError `INVALID_CONFIGURATION` when the call ended without having reached a job
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

/** Executes the task. If it is the job that somebody runs by hand, it runs without its slot, and `runNow` gets its result. */
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

/** For executors of this package's own, whose tasks are no jobs of the user: neither they nor what they call are run by hand. */
export function notByHand<T>(work: () => T): T {
  return calls.run(undefined, work)
}
