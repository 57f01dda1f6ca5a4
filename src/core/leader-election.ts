import { sleep } from './ask-again'
import type { Duration } from './duration'
import { LockError } from './errors'
import type { LockingTaskExecutorListener } from './listener'
import type { ActiveLock, LockProvider } from './lock'
import { checkDuration, checkLockConfiguration, checkOptions } from './lock-configuration'
import { LockingTaskExecutor, type ShutdownOptions } from './locking-task-executor'
import type { TaskContext } from './task-configuration'
import { WaitingLockProvider } from './waiting-lock-provider'
import { warn } from './warn'

/** Which lock makes the leader. */
export interface LeaderElectionConfiguration {
  /** The lock's name: of all processes that stand for it, one leads. */
  readonly name: string
  /** How long a leader that died keeps the others waiting. It is extended at half time while the leader lives. */
  readonly lockAtMostFor: Duration
  /** The longest pause between two attempts of those who do not lead. Default: a quarter of `lockAtMostFor`, 5 seconds at most. */
  readonly pause?: Duration | undefined
  /** Hear what happens to the lock, as those of an executor do. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/** What a process does when it leads, and when it does no more. */
export interface LeaderCallbacks {
  /**
   * This process leads from now on. `lock.signal` aborts when it does no more, and `lock.fencingToken()` grows with every leader.
   * It may return at once, or work until the signal aborts: nobody in this process leads again before its promise settles. If it
   * throws, this process gives the lock to another one.
   */
  readonly onElected: (lock: ActiveLock) => unknown
  /**
   * It leads no more: a `LockError` `LOCK_LOST` when the lock was lost, `SHUTDOWN` at `stop`, or what `onElected` threw. But for
   * the first, the lock is held until this has ended.
   */
  readonly onDeposed?: ((reason: unknown) => unknown) | undefined
  /** The database did not answer, or a callback threw; it goes on. Default: a process warning. */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

/** A process that stands for leader, until `stop`. */
export interface LeaderElection {
  /** Whether this process may act as the leader at this moment. */
  isLeader(): boolean
  /**
   * Gives way: `onDeposed` hears `SHUTDOWN`, and when it and `onElected` have ended, the lock is free for the next one. Call it
   * before the database is disconnected.
   *
   * @returns whether they ended within the timeout; else the lock stays held until they end or the process does
   */
  stop(options?: ShutdownOptions): Promise<boolean>
}

/**
 * Elects one leader among the processes that call this with the same name: who holds the lock leads, and keeps it alive. When it
 * is lost the process stands again. Two may overlap where a leader does not see in time that its lease is over, as with every
 * lease: the signal, or the fencing token, is what it has to heed. While it stands it keeps the process alive; while it leads, its
 * work has to.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function leaderElection(
  provider: LockProvider,
  configuration: LeaderElectionConfiguration,
  callbacks: LeaderCallbacks,
): LeaderElection {
  checkOptions(configuration, ['name', 'lockAtMostFor', 'pause', 'listeners'], 'leader election')
  checkOptions(callbacks, ['onElected', 'onDeposed', 'onError'], 'callbacks of the leader election')
  const { name, lockAtMostFor } = checkLockConfiguration({
    name: configuration.name,
    lockAtMostFor: configuration.lockAtMostFor,
  })
  const pause = checkDuration(
    name,
    'pause',
    configuration.pause ?? Math.ceil(Math.min(lockAtMostFor / 4, 5_000)),
  )
  const { onElected, onDeposed, onError = warn } = callbacks
  if (typeof onElected !== 'function')
    throw new LockError('INVALID_CONFIGURATION', `The leader election '${name}' needs a function onElected.`)
  const waiting = new WaitingLockProvider(provider, { timeout: '36500d', pause })
  const executor = new LockingTaskExecutor(waiting, { listeners: configuration.listeners })
  const stopped = new AbortController()
  let leading: ActiveLock | undefined

  const tell = async (callback: () => unknown): Promise<void> => {
    try {
      await callback()
    } catch (error) {
      await Promise.resolve(error).then(onError).catch(warn)
    }
  }
  const lead = async (lock: ActiveLock): Promise<void> => {
    const { signal } = lock
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => {
        resolve()
      })
    })
    const work = Promise.resolve(lock).then(onElected)
    let reason: unknown
    try {
      leading = lock
      await Promise.race([aborted, work.then(() => aborted)])
      reason = signal.reason
    } catch (error) {
      reason = error
    }
    leading = undefined
    await tell(() => onDeposed?.(reason))
    await work.catch((error: unknown) => {
      // Work that was told to stop may say so.
      if (error !== signal.reason) throw error
    })
  }
  const stand = async (): Promise<void> => {
    const { signal } = stopped
    while (!signal.aborted) {
      const task = ({ lock }: TaskContext): Promise<void> => lead(lock)
      try {
        await executor.executeWithLock({ name, lockAtMostFor, keepAlive: true }, task)
      } catch (error) {
        await tell(() => {
          throw error
        })
        // Others first.
        await sleep(pause, signal)
      }
    }
  }
  void stand()

  return {
    isLeader: () => leading !== undefined && leading.remaining() > 0 && !leading.signal.aborted,
    stop: async (options) => {
      stopped.abort()
      return (await executor.shutdown(options)).length === 0
    },
  }
}
