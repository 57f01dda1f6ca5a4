import { parseLockName, nameOf, TASK_OPTIONS, type TaskConfiguration } from './configuration'
import { skipError, warn } from './errors'
import { parseListeners, type LockingTaskExecutorListener } from './listener'
import type { Duration, Task, TaskResult } from './lock'
import type { LockProvider } from './lock-provider'
import { LockingTaskExecutor } from './locking-task-executor'
import { parseOptions, type OptionParsers } from './options'
import { Lease } from './time'
import { isUnanswered, untilAnswered } from './until-answered'

/** What to run once, and how long to wait while another instance runs it. */
export interface ExecuteOnceConfiguration extends Omit<TaskConfiguration, 'untilSucceeded' | 'onSkip'> {
  /**
   * When the task was due, the same on every instance; for migrations, the time at which this release was built. The task runs once
   * for each slot, and never for an earlier one. Default: no slot, so every instance runs the task, one after another.
   */
  readonly slot?: TaskConfiguration['slot']
  /** How long to wait while another instance runs the task, or the database does not answer. Default 5 minutes. */
  readonly wait?: TaskConfiguration['wait']
  /** How long the other instances wait if the one that runs the task dies. Default 1 minute. */
  readonly lockAtMostFor?: Duration | undefined
  /** As in a lock configuration. Default 0. */
  readonly lockAtLeastFor?: Duration | undefined
  /** Whether to extend the lock while the task runs, and for how long at most: `{ atMost: '2h' }`. Default `true`. */
  readonly keepAlive?: TaskConfiguration['keepAlive']
  /** Listeners to the events of the lock, as for an executor. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

const { untilSucceeded: _, onSkip: __, ...LOCK_OPTIONS } = TASK_OPTIONS
const OPTIONS = {
  ...LOCK_OPTIONS,
  listeners: parseListeners,
} satisfies OptionParsers<ExecuteOnceConfiguration>

/**
 * Runs a task that must be done before any instance goes on, such as migrations: one instance runs it while the others wait. The
 * others skip it if it has succeeded for this slot, or if a run for a later slot or without a slot has started since; they run it
 * if it failed or its instance died. If the lock is lost before the task succeeds, another instance may run the task again, and a
 * process warning reports this.
 *
 * @returns `{ executed: true, value }` if the task ran here, `{ executed: false, reason: 'already-run' }` if another instance has
 *   done it
 * @throws LockError `SKIPPED` if the lock was still held when `wait` was over, or if `signal` aborted before the task started;
 *   `INVALID_CONFIGURATION`, or the errors of `provider.lock`: it is then unknown whether the task is done. Rethrows what the task
 *   throws
 */
export async function executeOnce<T>(
  provider: LockProvider,
  configuration: ExecuteOnceConfiguration,
  task: Task<T>,
): Promise<TaskResult<T>> {
  const parsed = parseOptions(configuration, OPTIONS, 'configuration', nameOf(configuration))
  const {
    name = parseLockName(undefined),
    listeners,
    wait = { atMost: 300_000, interval: 500 },
    ...lock
  } = parsed
  const executor = new LockingTaskExecutor(provider, { listeners })
  const untilSucceeded = lock.slot !== undefined
  const waited = new Lease(wait.atMost)
  let hasBegun = false
  const attempt = () =>
    executor.executeWithLock(
      {
        lockAtMostFor: '1m',
        keepAlive: true,
        ...lock,
        name,
        untilSucceeded,
        wait: { ...wait, atMost: waited.remaining() },
        onSkip(event) {
          if (event.reason !== 'already-run') throw skipError(event)
        },
      },
      async (context) => {
        hasBegun = true
        const value = await task(context)
        if (context.lock.remaining() === 0)
          warn(
            `'${name}' was done, but its lock was lost before it ended, so another instance may do it again.`,
          )
        return value
      },
    )
  return untilAnswered(
    attempt,
    { atMost: wait.atMost, signal: lock.signal },
    (error) => !hasBegun && isUnanswered(error),
  )
}
