import { AsyncLocalStorage } from 'node:async_hooks'
import { invalid, sharedByEveryCopy } from './errors'
import type { TaskConfiguration, TaskResult } from './task-configuration'

/** A call by hand. The first task under a lock that it reaches is its job. */
interface CallByHand {
  found: boolean
  result?: Promise<TaskResult<unknown>>
}

const calls = sharedByEveryCopy('calls-by-hand.1', () => new AsyncLocalStorage<CallByHand>())

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
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, or something that calls one of these, such as a
 *   scheduler's own `trigger()`. What the job itself calls keeps its slots.
 * @returns `{ executed: true, value }`, or `{ executed: false, reason }`, as `executeWithLock` does
 * @throws what the job throws, even if it has `onError`; LockError `NOT_ACQUIRED` or `SHUTDOWN` if it is skipped and has
 *   `onNotAcquired: 'throw'`; LockError `INVALID_CONFIGURATION` when the call reached no job
 */
export async function runNow<T>(call: () => T): Promise<TaskResult<ValueOf<Awaited<T>>>> {
  const byHand: CallByHand = { found: false }
  await calls.run(byHand, call)
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
  if (!byHand || byHand.found) return execute(configuration)
  byHand.found = true
  const result = execute({ ...configuration, slot: undefined })
  byHand.result = result
  return result
}
