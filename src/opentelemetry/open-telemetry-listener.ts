import { metrics, type MeterProvider } from '@opentelemetry/api'
import { checkOptions, LockError, type LockEvent, type LockingTaskExecutorListener } from '../core'
import { errorType } from './error-type'
import { instruments, observeAge, type Instruments } from './instruments'

/** A provider that knows when each lock was last taken: that of TypeORM, of Prisma, or any other in SQL. */
export interface ListingLockProvider {
  /** Each lock of the table, with the database's time. */
  listLocks(): Promise<readonly { readonly name: string; readonly lockedAt: Date; readonly now: Date }[]>
}

/** Options of `openTelemetryListener`. */
export interface OpenTelemetryListenerOptions {
  /** Default: the global one, also if it is registered later. */
  readonly meterProvider?: MeterProvider | undefined
  /** Locks whose counters are to exist from the start, at 0, so that a dashboard sees jobs that never ran. */
  readonly lockNames?: readonly string[] | undefined
  /** For `shedlock.lock.age`: the table is read once for each time that metrics are collected. Default: no such metric. */
  readonly lockProvider?: ListingLockProvider | undefined
  /** How many lock names get an attribute value of their own; the others share `_OTHER`. Default 200. */
  readonly maxLockNames?: number | undefined
}

/**
 * Measures what an executor does. All have the attribute `lock.name`; those that count errors have `error.type`, which is
 * the code of a `LockError` or the class of another error.
 *
 * | metric | instrument | meaning |
 * | --- | --- | --- |
 * | `shedlock.lock.attempts` | counter | asked for the lock |
 * | `shedlock.lock.acquired` | counter | acquired it |
 * | `shedlock.lock.not.acquired` | counter | refused; `lock.refusal` is `held` or `already-run` |
 * | `shedlock.lock.age` | gauge, s | since anybody took it last, by the database's clock; with `lockProvider` |
 * | `shedlock.lock.failed` | counter | the database did not say; `error.type` |
 * | `shedlock.lock.extended` | counter | by the task, or because it is kept alive |
 * | `shedlock.lock.extend.failed` | counter | the database did not answer; `error.type` |
 * | `shedlock.lock.lost` | counter | the lease was over while the task ran |
 * | `shedlock.lock.unlock.failed` | counter | it expires by itself; `error.type` |
 * | `shedlock.execution.duration` | histogram, s | how long tasks ran; `error.type` if they threw |
 * | `shedlock.execution.active` | up-down counter | tasks that run now |
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function openTelemetryListener(
  options: OpenTelemetryListenerOptions = {},
): LockingTaskExecutorListener {
  checkOptions(
    options,
    ['meterProvider', 'lockNames', 'lockProvider', 'maxLockNames'],
    'OpenTelemetry options',
  )
  const { meterProvider, lockNames = [], lockProvider, maxLockNames = 200 } = options
  if (!Number.isInteger(maxLockNames) || maxLockNames < 0) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `maxLockNames is ${maxLockNames} – give a whole number from 0.`,
    )
  }
  const known = new Set(lockNames)
  const attributes = ({ name }: Pick<LockEvent, 'name'>) => {
    if (known.size < maxLockNames) known.add(name)
    return { 'lock.name': known.has(name) ? name : '_OTHER' }
  }
  const refused = (event: Pick<LockEvent, 'name'>, reason: string) => ({
    ...attributes(event),
    'lock.refusal': reason,
  })
  const withError = (event: LockEvent & { readonly error?: unknown }) => ({
    ...attributes(event),
    'error.type': errorType(event.error),
  })

  let source: MeterProvider | undefined
  let current: Instruments | undefined
  /** An SDK that starts after this listener was made replaces the global provider, and old instruments would stay mute. */
  const measured = (): Instruments => {
    const provider = meterProvider ?? metrics.getMeterProvider()
    if (current && source === provider) return current
    source = provider
    const meter = provider.getMeter('shedlock-orm')
    current = instruments(meter)
    if (lockProvider)
      observeAge(meter, async (observe) => {
        for (const lock of await lockProvider.listLocks())
          observe((lock.now.getTime() - lock.lockedAt.getTime()) / 1_000, attributes(lock))
      })
    for (const name of lockNames) {
      for (const [counts, counter] of Object.entries(current.counters))
        counter.add(0, counts === 'notAcquired' ? refused({ name }, 'held') : attributes({ name }))
      current.active.add(0, attributes({ name }))
    }
    return current
  }
  measured()

  return {
    onLockAttempt(event) {
      measured().counters.attempts.add(1, attributes(event))
    },
    onLockAcquired(event) {
      measured().counters.acquired.add(1, attributes(event))
    },
    onLockNotAcquired(event) {
      measured().counters.notAcquired.add(1, refused(event, event.reason))
    },
    onLockFailed(event) {
      measured().failures.lock.add(1, withError(event))
    },
    onLockExtended(event) {
      measured().counters.extended.add(1, attributes(event))
    },
    onExtendFailed(event) {
      measured().failures.extend.add(1, withError(event))
    },
    onLockLost(event) {
      measured().counters.lost.add(1, attributes(event))
    },
    onUnlockFailed(event) {
      measured().failures.unlock.add(1, withError(event))
    },
    onTaskStarted(event) {
      measured().active.add(1, attributes(event))
    },
    onTaskFinished(event) {
      measured().active.add(-1, attributes(event))
      measured().duration.record(
        event.duration / 1_000,
        event.outcome === 'error' ? withError(event) : attributes(event),
      )
    },
  }
}
