import { parseLockName, parseTaskConfiguration, nameOf } from './configuration'
import { aDuration, aLease } from './duration'
import { warn } from './errors'
import { parseListeners, type LockingTaskExecutorListener } from './listener'
import type { ActiveLock, Duration, TaskContext } from './lock'
import type { LockProvider } from './lock-provider'
import { parseShutdown, LockingTaskExecutor, type ShutdownOptions } from './locking-task-executor'
import { aFunction, parseOptions, optionError } from './options'
import { outsideOfScopes } from './scope'
import { sleep, whenAborted } from './time'

/** The lock whose holder is the leader. */
export interface LeaderElectionConfiguration {
  /** The lock's name. Of all processes that use it, one is the leader. */
  readonly name: string
  /** How long the others wait for a leader that died. A leader that is alive extends its lock when half of this time is over. */
  readonly lockAtMostFor: Duration
  /** The longest interval between two attempts of a candidate. Default: a quarter of `lockAtMostFor`, 5 seconds at most. */
  readonly interval?: Duration | undefined
  /** Listeners to the events of the lock, as for an executor. Default: none. */
  readonly listeners?: readonly LockingTaskExecutorListener[] | undefined
}

/** A candidate for leader, until `shutdown` is called. */
export interface LeaderElection {
  /** Returns whether this process may act as the leader at this moment. */
  isLeader(): boolean
  /**
   * Steps down for good, and releases the lock for the next leader when `onStepDown` and `onElected` have ended. Call it before you
   * disconnect from the database. The signal aborts at once, because a leader's work does not end by itself.
   *
   * @param options how long to wait at most. Default 10 seconds
   * @returns the name of the lock if they did not end within the timeout: it stays held until they end or the process does
   * @throws LockError `INVALID_CONFIGURATION` for a wrong timeout
   */
  shutdown(options?: Pick<ShutdownOptions, 'timeout'>): Promise<readonly string[]>
}

/**
 * Elects one leader among the processes that call this with the same name: the process that holds the lock leads, and keeps the
 * lock alive. A leader that loses the lock becomes a candidate again. As with every lease, two leaders may overlap if one does not
 * notice in time that its lease is over, so heed the signal or use the fencing token. A candidate keeps its process from ending; a
 * leader does not, so its own work has to.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function leaderElection(
  provider: LockProvider,
  configuration: LeaderElectionConfiguration,
  callbacks: {
    /**
     * Called when this process becomes the leader. `lock.signal` aborts when it is no longer the leader, and `lock.fencingToken()` is
     * greater for each new leader. The callback may return at once, or work until the signal aborts: this process does not become
     * the leader again before the callback's promise settles. If it throws, this process steps down.
     */
    readonly onElected: (lock: ActiveLock) => unknown
    /**
     * Called when this process is no longer the leader, with the reason: a `LockError` `LOCK_LOST` if the lock was lost, `SHUTDOWN`
     * at `shutdown`, or what `onElected` threw. Unless the lock was lost, it stays held until this callback has ended.
     */
    readonly onStepDown?: ((reason: unknown) => unknown) | undefined
    /** Called when the database does not answer or a callback throws; the election goes on. Default: a process warning. */
    readonly onError?: ((error: unknown) => unknown) | undefined
  },
): LeaderElection {
  const parsed = parseOptions(
    configuration,
    { name: parseLockName, lockAtMostFor: aLease, interval: aDuration, listeners: parseListeners },
    'leader election',
    nameOf(configuration),
  )
  const { lockAtMostFor } = parsed
  const interval = parsed.interval ?? Math.ceil(Math.min((lockAtMostFor ?? 1) / 4, 5_000))
  const wait = { atMost: '36500d', interval }
  const candidacy = { name: configuration.name, lockAtMostFor, keepAlive: true, wait }
  const { name } = parseTaskConfiguration(candidacy, {}).configuration
  const {
    onElected,
    onStepDown,
    onError = warn,
  } = parseOptions(
    callbacks,
    { onElected: aFunction, onStepDown: aFunction, onError: aFunction },
    'callbacks of the leader election',
    name,
  )
  if (!onElected) throw optionError('onElected', 'a function', name)
  // This listener suppresses the process warning for a lost lock: the leader steps down, and `onStepDown` gets the reason.
  const listeners = [...(parsed.listeners ?? []), { onLockLost: () => undefined }]
  const executor = new LockingTaskExecutor(provider, { listeners })
  const stopped = new AbortController()
  let leading: ActiveLock | undefined

  const report = (error: unknown): Promise<unknown> => Promise.resolve(error).then(onError).catch(warn)
  const lead = async ({ lock, signal }: TaskContext): Promise<void> => {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      whenAborted(signal, resolve)
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
      // Work that stops because of the signal may reject with the signal's reason.
      if (error !== signal.reason) throw error
    })
  }
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        const { executed } = await executor.executeWithLock(candidacy, lead)
        if (executed) continue
      } catch (error) {
        await report(error)
      }
      // Give other candidates a chance to lead, and the process a chance to do anything else.
      await sleep(interval, stopped.signal)
    }
  }
  void outsideOfScopes(run)

  return {
    isLeader: () => leading?.signal.aborted === false,
    shutdown: async (options = {}) => {
      const { timeout } = parseShutdown(options)
      stopped.abort()
      return executor.shutdown({ timeout, abortAfter: 0 })
    },
  }
}
