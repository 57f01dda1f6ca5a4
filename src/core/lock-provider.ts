import { checkLockConfiguration, type LockRequest } from './configuration'
import { aDuration } from './duration'
import { LockError, invalid, shutdownError, warn } from './errors'
import { HeldLock, type LockReport } from './held-lock'
import type {
  Acquisition,
  CheckedLockConfiguration,
  Lock,
  LockConfiguration,
  Refusal,
  ShutdownOptions,
  Skip,
} from './lock'
import { checkOptions } from './options'
import { Lease, sleep, time } from './time'

/** Hands out locks. A storage only has to implement `acquire`; `shedlock-orm/testing` has a test suite for it. */
export abstract class LockProvider {
  /** Where the locks are kept, for logs, such as `the table shedlock (postgres)`. Default: unknown. */
  readonly description?: string | undefined

  /**
   * Tries to acquire the lock once, and never waits for it. Storage authors implement this; `lock` and the executors call it.
   *
   * @returns the acquisition, or why it was refused
   * @throws LockError if it is unknown whether the lock was acquired
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
    const lock = await acquireLock(this, checkLockConfiguration(configuration))
    return lock instanceof HeldLock ? lock : undefined
  }

  /**
   * Waits for background releases, and abandons them after the timeout. Call it at the end of the process: it sends nothing more to
   * the storage until the next lock is acquired. A provider that does nothing in the background omits this method.
   */
  drain?(options?: ShutdownOptions): Promise<void>

  /**
   * Returns what one executor uses of this provider: its `drain` concerns only the locks that were acquired with its `acquire`. A
   * provider that does nothing in the background omits this method.
   */
  forCaller?(): Pick<LockProvider, 'acquire' | 'drain'>
}

/** @throws LockError `INVALID_CONFIGURATION` */
export function checkProvider<Provider>(provider: Provider, what = 'The first argument'): Provider {
  if (typeof (provider as Partial<LockProvider> | undefined)?.acquire === 'function') return provider
  throw invalid(
    `${what} is not a lock provider – pass typeOrmLockProvider(dataSource) or prismaLockProvider(prisma).`,
  )
}

/**
 * @returns the timeout in milliseconds
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function checkDrain(options: ShutdownOptions): number {
  return checkOptions(options, { timeout: aDuration }, 'options of drain()').timeout ?? 10_000
}

/** What an executor adds when it acquires the lock of a task. */
interface LockOfTask {
  readonly report: LockReport | undefined
  /** Aborts when the task must no longer start. */
  readonly stopped: AbortSignal
}

/** A lock provider, or a lock that is lent to a nested task. */
interface LockSource {
  acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal | Skip>
}

/**
 * Acquires a lock; with `wait`, tries again while it is held.
 *
 * @throws the reason of a signal as soon as that aborts; otherwise the errors of `provider.acquire`
 */
export async function acquireLock(
  provider: LockSource,
  { configuration, wait, keepAlive, signal }: LockRequest,
  { report, stopped }: Partial<LockOfTask> = {},
): Promise<HeldLock | Skip> {
  // `AbortSignal.any` would leak: on Node.js 20, a long-lived signal keeps something of each signal that was made from it.
  const signals = [stopped, signal].filter((each) => each !== undefined)
  const attempt = () => provider.acquire(configuration)
  const isFinal = (answer: Acquisition | Refusal | Skip): boolean =>
    !('reason' in answer) || !['held', 'nested'].includes(answer.reason)
  throwIfAborted(signals)
  const answer = wait ? await poll(attempt, isFinal, wait, signals) : await attempt()
  const { name, lockAtMostFor } = configuration
  if ('reason' in answer) {
    throwIfAborted(signals)
    if (answer.reason === 'slot-too-far-ahead')
      throw slotTooFarAhead(name, Number(configuration.slot), answer.now)
    return answer
  }
  if (answer.lease.remaining() > 0 && !signals.some(({ aborted }) => aborted)) {
    const lock = new HeldLock(name, answer, report)
    if (keepAlive) lock.keepAlive(lockAtMostFor, keepAlive.atMost ?? Infinity)
    if (stopped) lock.stopWith(stopped, () => shutdownError(name))
    if (signal) lock.stopWith(signal)
    return lock
  }
  await answer.unlock('unused').catch(warn)
  throwIfAborted(signals)
  throw new LockError(
    'TIMEOUT',
    `Lock '${name}' was acquired only after its lease of ${lockAtMostFor} ms was over – make lockAtMostFor longer.`,
    { lockName: name },
  )
}

/** Creates the error for a slot that lies too far ahead of the storage's clock. Both are in milliseconds since 1970. */
function slotTooFarAhead(name: string, slot: number, now: number): LockError {
  const iso = (time: number): string => new Date(time).toISOString()
  return invalid(
    `The slot of lock '${name}', ${iso(slot)}, lies more than a minute ahead of the database's clock, which says ${iso(now)}; the clock of this process says ${iso(time.wall())} – correct the clock that is wrong. If both are right, pass the time at which this run was due as the slot.`,
    name,
  )
}

/**
 * Repeats an attempt until its outcome is final or `atMost` is over. Durations are in milliseconds.
 *
 * @returns the last outcome
 * @throws what `attempt` throws, at once; the reason of a signal, as soon as it aborts
 */
export async function poll<T>(
  attempt: () => Promise<T>,
  isFinal: (outcome: T) => boolean,
  { atMost, interval }: { readonly atMost: number; readonly interval: number },
  signals: readonly AbortSignal[] = [],
): Promise<T> {
  const lease = new Lease(atMost)
  for (;;) {
    throwIfAborted(signals)
    const outcome = await attempt()
    const left = lease.remaining()
    if (left === 0 || isFinal(outcome)) return outcome
    await sleep(Math.min(left, time.jittered(interval)), ...signals)
  }
}

function throwIfAborted(signals: readonly AbortSignal[]): void {
  for (const signal of signals) signal.throwIfAborted()
}
