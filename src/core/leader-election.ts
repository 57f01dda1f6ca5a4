import { invalid, warn } from './errors'
import type { LockingTaskExecutorListener } from './listener'
import type { ActiveLock, Duration, LockProvider, ShutdownOptions } from './lock'
import { checkDuration, checkLockConfiguration, checkOptions } from './lock-configuration'
import { LockingTaskExecutor } from './locking-task-executor'
import type { TaskContext } from './task-configuration'
import { LONGEST_TIMEOUT, sleep } from './time'
import { WaitingLockProvider } from './wrapping-lock-providers'

/** The lock whose holder is the leader. */
export interface LeaderElectionConfiguration {
  /** The lock's name: one of all processes that use it leads. */
  readonly name: string
  /** How long the others wait for a leader that died. While the leader lives, its lock is extended when half of this is over. */
  readonly lockAtMostFor: Duration
  /** The longest pause between two attempts of a candidate. Default: a quarter of `lockAtMostFor`, 5 seconds at most. */
  readonly pause?: Duration | undefined
  /** Listeners to what happens to the lock, as of an executor. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/** What a process does when it begins to lead, and when it steps down. */
export interface LeaderCallbacks {
  /**
   * Called when this process becomes the leader. `lock.signal` aborts when it no longer is, and `lock.fencingToken()` grows with
   * every leader. The callback may return at once, or work until the signal aborts: this process does not become the leader again
   * before its promise settles. If it throws, this process steps down.
   */
  readonly onElected: (lock: ActiveLock) => unknown
  /**
   * Called when this process is no longer the leader, with the reason: a `LockError` `LOCK_LOST` when the lock was lost,
   * `SHUTDOWN` at `stop`, or what `onElected` threw. Unless the lock was lost, it is held until this callback has ended.
   */
  readonly onStepDown?: ((reason: unknown) => unknown) | undefined
  /** Called when the database did not answer, or a callback threw; the election goes on. Default: a process warning. */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

/** A candidate for leader, until `stop` is called. */
export interface LeaderElection {
  /** Whether this process may act as the leader at this moment. */
  isLeader(): boolean
  /**
   * Steps down for good: when `onStepDown` and `onElected` have ended, the lock is released for the next leader. Call it before
   * the database is disconnected.
   *
   * @returns whether they ended within the timeout; otherwise the lock stays held until they end or the process does
   */
  stop(options?: ShutdownOptions): Promise<boolean>
}

/**
 * Elects one leader among the processes that call this with the same name: the holder of the lock leads, and keeps the lock
 * alive. A leader that loses the lock is a candidate again. As with every lease, two leaders may overlap if one does not notice
 * in time that its lease is over: so heed the signal, or use the fencing token. A candidate keeps its process from ending; a
 * leader does not, so its own work has to.
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
    throw invalid(`onElected of the leader election '${name}' must be a function.`, name)
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
