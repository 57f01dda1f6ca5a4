import { AsyncLocalStorage } from 'node:async_hooks'
import { invalid, sharedByEveryCopy } from './errors'
import type { TaskConfiguration, TaskResult } from './task-configuration'

/** A call by hand. The first task under a lock that it comes to is its job. */
interface CallByHand {
  found: boolean
  result?: Promise<TaskResult<unknown>>
}

const calls = sharedByEveryCopy('calls-by-hand.1', () => new AsyncLocalStorage<CallByHand>())

/** What a job that is run by hand gives: of a wrapped function, which says whether it ran, the value in what it says. */
type ValueOf<T> = [T] extends [TaskResult<infer Value>] ? Value : T

/**
 * Runs a job by hand: under its lock, and without its slot, so that it runs whether or not its last time was run.
 *
 * ```ts
 * const result = await runNow(() => reports.nightly())
 * if (!result.executed) console.log(`not run: ${result.reason}`) // held: it runs just now, here or elsewhere
 * ```
 *
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, or whatever calls it, such as a scheduler's own
 *   `trigger()`. What the job itself calls keeps its slots.
 * @returns as `executeWithLock`: `{ executed: true, value }`, or `{ executed: false, reason }`
 * @throws what the job throws, also if it has `onError`; `NOT_ACQUIRED` if it is skipped and has `onNotAcquired: 'throw'`; LockError
 *   `INVALID_CONFIGURATION` when the call came to no job
 */
export async function runNow<T>(call: () => T): Promise<TaskResult<ValueOf<Awaited<T>>>> {
  const byHand: CallByHand = { found: false }
  await calls.run(byHand, call)
  if (byHand.result) return byHand.result as Promise<TaskResult<ValueOf<Awaited<T>>>>
  throw invalid(
    'runNow found no job to run – call a wrapped function, or a method with @SchedulerLock, inside of it.',
  )
}

/** Executes the task: without its slot, if it is the job that somebody runs by hand, who then hears what became of it. */
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
