import { invalid, warn } from './errors'
import type { LockingTaskExecutorListener } from './listener'
import type { ActiveLock, Duration, LockProvider, ShutdownOptions } from './lock'
import { checkDuration, checkLockConfiguration, checkOptions } from './lock-configuration'
import { LockingTaskExecutor } from './locking-task-executor'
import type { TaskContext } from './task-configuration'
import { LONGEST_TIMEOUT, sleep } from './time'
import { WaitingLockProvider } from './wrapping-lock-providers'

/** Which lock makes the leader. */
export interface LeaderElectionConfiguration {
  /** The lock's name: of all processes that join with it, one leads. */
  readonly name: string
  /** How long a leader that died keeps the others waiting. It is extended at half time while the leader lives. */
  readonly lockAtMostFor: Duration
  /** The longest pause between two attempts of those who do not lead. Default: a quarter of `lockAtMostFor`, 5 seconds at most. */
  readonly pause?: Duration | undefined
  /** Hear what happens to the lock, as those of an executor do. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/** What a process does when it leads, and when it steps down. */
export interface LeaderCallbacks {
  /**
   * This process leads from now on. `lock.signal` aborts when it does no more, and `lock.fencingToken()` grows with every leader.
   * It may return at once, or work until the signal aborts: nobody in this process leads again before its promise settles. If it
   * throws, this process steps down.
   */
  readonly onElected: (lock: ActiveLock) => unknown
  /**
   * It leads no more: a `LockError` `LOCK_LOST` when the lock was lost, `SHUTDOWN` at `stop`, or what `onElected` threw. But for
   * the first, the lock is held until this has ended.
   */
  readonly onStepDown?: ((reason: unknown) => unknown) | undefined
  /** The database did not answer, or a callback threw; it goes on. Default: a process warning. */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

/** A candidate for leader, until `stop`. */
export interface LeaderElection {
  /** Whether this process may act as the leader at this moment. */
  isLeader(): boolean
  /**
   * Steps down: when `onStepDown` and `onElected` have ended, the lock is free for the next one. Call it before the database is
   * disconnected.
   *
   * @returns whether they ended within the timeout; else the lock stays held until they end or the process does
   */
  stop(options?: ShutdownOptions): Promise<boolean>
}

/**
 * Elects one leader among the processes that call this with the same name: who holds the lock leads, and keeps it alive. Who
 * loses it is a candidate again. Two may overlap where a leader does not see in time that its lease is over, as with every
 * lease: heed the signal, or the fencing token. A candidate keeps its process alive; while it leads, its work has to.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function leaderElection(
  provider: LockProvider,
  configuration: LeaderElectionConfiguration,
  callbacks: LeaderCallbacks,
): LeaderElection {
  checkOptions(configuration, ['name', 'lockAtMostFor', 'pause', 'listeners'], 'leader election')
  checkOptions(callbacks, ['onElected', 'onStepDown', 'onError'], 'callbacks of the leader election')
  const { name, lockAtMostFor } = checkLockConfiguration({
    name: configuration.name,
    lockAtMostFor: configuration.lockAtMostFor,
  })
  const { pause: longestPause = Math.ceil(Math.min(lockAtMostFor / 4, 5_000)) } = configuration
  const pause = Math.min(checkDuration(name, 'pause', longestPause), LONGEST_TIMEOUT)
  const { onElected, onStepDown, onError = warn } = callbacks
  if (typeof onElected !== 'function')
    throw invalid(`The leader election '${name}' needs a function onElected.`)
  const waiting = new WaitingLockProvider(provider, { timeout: '36500d', pause })
  const executor = new LockingTaskExecutor(waiting, { listeners: configuration.listeners })
  const stopped = new AbortController()
  let leading: ActiveLock | undefined

  const report = (error: unknown): Promise<unknown> => Promise.resolve(error).then(onError).catch(warn)
  const lead = async ({ lock, signal }: TaskContext): Promise<void> => {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => {
        resolve()
      })
    })
    const work = Promise.resolve(lock).then(onElected)
    leading = lock
    const reason: unknown = await Promise.race([aborted, work.then(() => aborted)]).then(
      () => signal.reason as unknown,
      (error: unknown) => error,
    )
    leading = undefined
    await Promise.resolve(reason).then(onStepDown).catch(report)
    await work.catch((error: unknown) => {
      // Work that was told to stop may say so.
      if (error !== signal.reason) throw error
    })
  }
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        await executor.executeWithLock({ name, lockAtMostFor, keepAlive: true }, lead)
      } catch (error) {
        await report(error)
        // Others first.
        await sleep(pause, stopped.signal)
      }
    }
  }
  void run()

  return {
    isLeader: () => leading !== undefined && leading.remaining() > 0 && !leading.signal.aborted,
    stop: async (options) => {
      stopped.abort()
      return (await executor.shutdown(options)).length === 0
    },
  }
}
