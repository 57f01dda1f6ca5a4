import { parseLockConfiguration, type LockRequest } from './configuration'
import { LockError, configurationError, unreleasedError, warn } from './errors'
import { HeldLock, type LockReport } from './held-lock'
import type {
  Acquisition,
  CheckedLockConfiguration,
  Duration,
  Lock,
  LockConfiguration,
  Refusal,
  Skip,
} from './lock'
import { Lease, sleep, time } from './time'

/** Hands out locks. A storage only has to implement `acquire`; `shedlock-orm/testing` has a test suite for it. */
export abstract class LockProvider {
  /** Where the locks are kept, for logs, such as `the table shedlock (postgres)`. Default: unknown. */
  readonly description?: string | undefined

  /**
   * Tries to acquire the lock once, and never waits for it. Storage authors implement this; `lock` and the executors call it.
   *
   * @returns the acquisition, or why it was refused
   * @throws LockError if the lock was not refused, and is not known to be acquired
   */
  abstract acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal>

  /**
   * Acquires a lock by hand.
   *
   * ```ts
   * await using lock = await provider.lock({ name: 'report', lockAtMostFor: '14m' })
   * if (lock) await sendReport()
   * ```
   *
   * @returns the lock; `undefined` if it is already held, or if its slot has already run
   * @throws LockError `INVALID_CONFIGURATION`; another code if it is unknown whether the lock was acquired. The reason of `signal`,
   *   if that has aborted. In all these cases the lock was not acquired, or is released again
   */
  async lock(configuration: LockConfiguration): Promise<Lock | undefined> {
    const request = parseLockConfiguration(configuration)
    const lock = await acquireLock(this, request)
    if (lock instanceof HeldLock) return lock
    if (lock.reason === 'aborted') request.signal?.throwIfAborted()
    return undefined
  }

  /**
   * Waits for background releases, and abandons them after the timeout. Call it at the end of the process: it sends nothing more to
   * the storage until the next lock is acquired. A provider that does nothing in the background omits this method.
   *
   * @param timeout how long to wait at most. Default 10 seconds
   */
  drain?(timeout?: Duration): Promise<void>

  /**
   * Returns what one executor uses of this provider: its `drain` concerns only the locks that were acquired with its `acquire`. A
   * provider that does nothing in the background omits this method.
   */
  forCaller?(): Pick<LockProvider, 'acquire' | 'drain'>
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function parseProvider<Provider>(provider: Provider, what = 'The first argument'): Provider {
  if (typeof (provider as Partial<LockProvider> | undefined)?.acquire === 'function') return provider
  throw configurationError(
    `${what} is not a lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).`,
  )
}

/** A lock provider, or a lock that is lent to a nested task. */
interface LockSource {
  acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal | Skip>
}

/**
 * Acquires a lock; with `wait`, tries again while it is held. If a signal aborts first, the lock is skipped as `aborted` or
 * `shutdown`.
 *
 * @param run of an executor: `report` says where the lock's events go, and `shutdown` aborts when no task may start any more
 * @throws the errors of `provider.acquire`
 */
export async function acquireLock(
  provider: LockSource,
  { configuration, wait, keepAlive, signal }: LockRequest,
  { report, shutdown }: { readonly report?: LockReport; readonly shutdown?: AbortSignal } = {},
): Promise<HeldLock | Skip> {
  const { name, lockAtMostFor } = configuration
  const skippedBefore = skipOf(shutdown, signal)
  if (skippedBefore) return skippedBefore
  const answer = wait
    ? await poll(() => provider.acquire(configuration), isFinal, wait, [shutdown, signal])
    : await provider.acquire(configuration)
  const skip = skipOf(shutdown, signal)
  if ('reason' in answer) {
    if (skip) return skip
    if (answer.reason !== 'slot-too-far-ahead') return answer
    throw slotTooFarAheadError(name, Number(configuration.slot), answer.now)
  }
  if (!skip && answer.lease.remaining() > 0) {
    const lock = new HeldLock(name, answer, report)
    if (keepAlive) lock.keepAlive(lockAtMostFor, keepAlive.atMost ?? Infinity)
    if (signal) lock.abortWith(signal)
    return lock
  }
  await answer.unlock('unused').catch((error: unknown) => {
    warn(unreleasedError(name, error))
  })
  const skipped = skipOf(shutdown, signal)
  if (skipped) return skipped
  throw new LockError(
    'TIMEOUT',
    `Lock '${name}' was acquired only after its lease of ${lockAtMostFor} ms was over – make lockAtMostFor longer.`,
    { lockName: name },
  )
}

function skipOf(shutdown: AbortSignal | undefined, signal: AbortSignal | undefined): Skip | undefined {
  if (shutdown?.aborted) return { reason: 'shutdown' }
  return signal?.aborted ? { reason: 'aborted' } : undefined
}

/** Whether another attempt is pointless. */
function isFinal(answer: Acquisition | Refusal | Skip): boolean {
  return !('reason' in answer) || !['held', 'nested'].includes(answer.reason)
}

/** Creates the error for a slot that lies too far ahead of the storage's clock. Both are in milliseconds since 1970. */
function slotTooFarAheadError(name: string, slot: number, now: number): LockError {
  const iso = (time: number): string => new Date(time).toISOString()
  return configurationError(
    `The slot of lock '${name}', ${iso(slot)}, lies more than a minute ahead of the database's clock, which says ${iso(now)}; the clock of this process says ${iso(time.wall())} – correct the clock that is wrong. If both are right, pass the time at which this run was due as the slot.`,
    name,
  )
}

/**
 * Repeats an attempt until its result is final, `atMost` is over, or a signal aborts. Durations are in milliseconds.
 *
 * @returns the last result
 * @throws what `attempt` throws, at once
 */
export async function poll<T>(
  attempt: () => Promise<T>,
  isFinal: (result: T) => boolean,
  { atMost, interval }: { readonly atMost: number; readonly interval: number },
  signals: readonly (AbortSignal | undefined)[] = [],
): Promise<T> {
  // `AbortSignal.any` would leak: on Node.js 20, a long-lived signal keeps something of each signal that was made from it.
  const given = signals.filter((signal) => signal !== undefined)
  const lease = new Lease(atMost)
  for (;;) {
    const result = await attempt()
    const left = lease.remaining()
    if (left === 0 || isFinal(result)) return result
    await sleep(Math.min(left, time.jittered(interval)), ...given)
    if (given.some(({ aborted }) => aborted)) return result
  }
}
