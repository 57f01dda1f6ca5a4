import {
  metrics,
  type Attributes,
  type BatchObservableResult,
  type Meter,
  type MeterProvider,
} from '@opentelemetry/api'
import {
  parseOptions,
  type LockingTaskExecutorListener,
  type Skip,
  errorName,
  missedAt,
  optionError,
  parseJobs,
  NEVER_ACQUIRED,
  time,
  type Job,
  type KnownJob,
} from '../core/internal'

const OPTIONS = {
  meterProvider: (value: Partial<MeterProvider> | null, option: string) => {
    if (typeof value?.getMeter !== 'function') throw optionError(option, 'a meter provider of OpenTelemetry')
  },
  lockProvider: (value: { readonly table?: { readonly list?: unknown } } | null, option: string) => {
    if (typeof value?.table?.list !== 'function')
      throw optionError(option, 'a lock provider with table.list(), such as that of TypeORM or Prisma')
  },
  jobs: parseJobs,
}

const OUTCOMES = ['succeeded', 'failed', 'died', 'unlocked'] as const

type Instruments = ReturnType<typeof instruments>

/** Bucket boundaries in seconds. The SDK's defaults suit milliseconds, and jobs take from a moment to hours. */
const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200]

/**
 * Creates a listener that records metrics of an executor. All metrics have the attribute `lock.name`; those that count errors also
 * have `error.type`, which is the code of an error or the name of its class.
 *
 * | metric | instrument | meaning |
 * | --- | --- | --- |
 * | `shedlock.lock.attempts` | counter | attempts to acquire the lock |
 * | `shedlock.lock.acquired` | counter | attempts that acquired it |
 * | `shedlock.lock.not.acquired` | counter | attempts that were refused; `lock.refusal` is `held` or `already-run` |
 * | `shedlock.lock.age` | gauge, s | time since the lock was last acquired, by the database's clock; with `lockProvider` |
 * | `shedlock.lock.last.run` | gauge | for each `lock.outcome` (`succeeded`, `failed`, `died`, `unlocked`) 1 if the last run ended so, else 0; all 0 during a run, and if it is unknown; with `lockProvider` |
 * | `shedlock.lock.missed` | gauge, s | time since the job was due and nobody ran it, 0 if somebody did; with `lockProvider` and `jobs` |
 * | `shedlock.lock.failed` | counter | attempts that failed with an error; `error.type` |
 * | `shedlock.lock.extended` | counter | extensions, by the task or because the lock is kept alive |
 * | `shedlock.lock.extend.failed` | counter | extensions that failed with an error; `error.type` |
 * | `shedlock.lock.lost` | counter | locks lost while their task ran |
 * | `shedlock.lock.unlock.failed` | counter | locks that could not be released, so they expire instead; `error.type` |
 * | `shedlock.execution.duration` | histogram, s | how long tasks ran; `error.type` if they threw |
 * | `shedlock.execution.active` | up-down counter | tasks that are running |
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function openTelemetryListener(
  options: {
    /** The meter provider. Default: the global one, even if it is registered later. */
    readonly meterProvider?: MeterProvider | undefined
    /**
     * The jobs by the names of their locks, as for the lock page: `{ report: { due: cron }, import: {} }`. Their counters start at 0 at
     * once, so that a dashboard also shows jobs that have never run; those with `due` have `shedlock.lock.missed`. Default: none.
     */
    readonly jobs?: Readonly<Record<string, Job>> | undefined
    /**
     * The lock provider for `shedlock.lock.age`, `.last.run` and `.missed`, whose table is read each time metrics are collected, so shut the
     * meter provider down before the client: a PrismaClient would connect again. Default: no such metric.
     */
    readonly lockProvider?:
      | {
          readonly table: {
            /** Reads all locks of the table, with the database's current time. */
            list(): Promise<
              readonly {
                readonly name: string
                readonly held: boolean
                readonly lockedAt: Date
                readonly lockUntil: Date
                readonly now: Date
                readonly lastRun?: { readonly outcome: string }
              }[]
            >
          }
        }
      | undefined
  } = {},
): LockingTaskExecutorListener {
  const { jobs = new Map<string, KnownJob>() } = parseOptions(options, OPTIONS, 'OpenTelemetry options')
  const { meterProvider, lockProvider } = options

  let source: MeterProvider | undefined
  let current: Instruments | undefined
  /** Recreates the instruments if an SDK that started later has replaced the global provider: the old ones would record nothing. */
  const currentInstruments = (): Instruments => {
    const provider = meterProvider ?? metrics.getMeterProvider()
    if (current && source === provider) return current
    source = provider
    const meter = provider.getMeter('shedlock-orm')
    current = instruments(meter)
    // The table is read only when metrics are collected.
    if (lockProvider) {
      const gauge = (name: string, description: string, unit = 's') =>
        meter.createObservableGauge(`shedlock.lock.${name}`, { unit, description })
      const age = gauge('age', 'Time since the lock was last acquired')
      const lastRun = gauge('last.run', '1 for how the last run ended, else 0', '{run}')
      const missed = gauge('missed', 'Time since the job was due and nobody ran it')
      /** The SDK exports for ever what was observed once. So every outcome is observed each time, also of rows that are gone. */
      const everAcquired = new Set<string>()
      const observe = async (result: BatchObservableResult): Promise<void> => {
        const locks = new Map((await lockProvider.table.list()).map((lock) => [lock.name, lock]))
        for (const lock of locks.values()) {
          if (lock.lockedAt.getTime() <= NEVER_ACQUIRED) continue
          everAcquired.add(lock.name)
          result.observe(age, (lock.now.getTime() - lock.lockedAt.getTime()) / 1_000, attributesOf(lock))
        }
        for (const name of everAcquired)
          for (const outcome of OUTCOMES) {
            const ended = Number(locks.get(name)?.lastRun?.outcome === outcome)
            result.observe(lastRun, ended, { 'lock.name': name, 'lock.outcome': outcome })
          }
        for (const [name, job] of jobs) {
          if (!job.due) continue
          const lock = locks.get(name)
          const now = lock?.now.getTime() ?? time.wall()
          result.observe(missed, (now - (missedAt(job, lock) ?? now)) / 1_000, attributesOf({ name }))
        }
      }
      meter.addBatchObservableCallback(observe, [age, lastRun, missed])
    }
    for (const name of jobs.keys()) {
      for (const counter of ['attempts', 'acquired', 'extended', 'lost', 'active'] as const)
        current[counter].add(0, attributesOf({ name }))
      current.notAcquired.add(0, attributesOf({ name, reason: 'held' }))
    }
    return current
  }
  currentInstruments()

  const count =
    (counter: Exclude<keyof Instruments, 'duration'>) =>
    (event: Measured): void => {
      currentInstruments()[counter].add(1, attributesOf(event))
    }
  return {
    onLockAttempt: count('attempts'),
    onLockAcquired: count('acquired'),
    onLockNotAcquired: count('notAcquired'),
    onLockFailed: count('failed'),
    onLockExtended: count('extended'),
    onExtendFailed: count('extendFailed'),
    // Each loss has the same error.
    onLockLost: ({ name }) => {
      count('lost')({ name })
    },
    onUnlockFailed: count('unlockFailed'),
    onTaskStarted: count('active'),
    onTaskFinished(event) {
      currentInstruments().active.add(-1, attributesOf({ name: event.name }))
      currentInstruments().duration.record(event.duration / 1_000, attributesOf(event))
    },
  }
}

interface Measured {
  readonly name: string
  readonly reason?: Skip['reason']
  readonly error?: unknown
}

function attributesOf(measured: Measured): Attributes {
  const { name, reason, error } = measured
  return {
    'lock.name': name,
    ...(reason && { 'lock.refusal': reason }),
    ...('error' in measured && { 'error.type': errorName(error) }),
  }
}

/** Names and units match ShedLock's own meters where they exist, so that one dashboard shows both Java and Node.js. */
function instruments(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`shedlock.lock.${name}`, { unit, description })
  return {
    attempts: counter('attempts', '{attempt}', 'Attempts to acquire a lock'),
    acquired: counter('acquired', '{attempt}', 'Attempts that acquired the lock'),
    notAcquired: counter('not.acquired', '{attempt}', 'Attempts that were refused'),
    extended: counter('extended', '{extension}', 'Extensions of a lock'),
    lost: counter('lost', '{lock}', 'Locks lost while their task ran'),
    failed: counter('failed', '{attempt}', 'Attempts that failed with an error'),
    extendFailed: counter('extend.failed', '{extension}', 'Extensions that failed with an error'),
    unlockFailed: counter('unlock.failed', '{lock}', 'Locks that could not be released'),
    duration: meter.createHistogram('shedlock.execution.duration', {
      unit: 's',
      description: 'How long tasks ran under a lock',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    active: meter.createUpDownCounter('shedlock.execution.active', {
      unit: '{execution}',
      description: 'Tasks that are running under a lock',
    }),
  }
}
