import type { Attributes, Meter } from '@opentelemetry/api'

export type Instruments = ReturnType<typeof instruments>

/** The SDK's own buckets are meant for milliseconds; jobs take from a moment to hours. */
const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200]

/** The first five of the names are those of ShedLock's meters, so that one dashboard shows Java and Node. */
export function instruments(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description })
  return {
    counters: {
      attempts: counter('shedlock.lock.attempts', '{attempt}', 'Attempts to acquire a lock'),
      acquired: counter('shedlock.lock.acquired', '{attempt}', 'Attempts that acquired the lock'),
      notAcquired: counter('shedlock.lock.not.acquired', '{attempt}', 'Attempts that found the lock held'),
      extended: counter('shedlock.lock.extended', '{extension}', 'Extensions of a lock'),
      lost: counter('shedlock.lock.lost', '{lock}', 'Locks lost while their task ran'),
    },
    failures: {
      lock: counter('shedlock.lock.failed', '{attempt}', 'Attempts that the database did not answer'),
      extend: counter(
        'shedlock.lock.extend.failed',
        '{extension}',
        'Extensions that the database did not answer',
      ),
      unlock: counter('shedlock.lock.unlock.failed', '{lock}', 'Locks that could not be released'),
    },
    duration: meter.createHistogram('shedlock.execution.duration', {
      unit: 's',
      description: 'How long tasks ran under a lock',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    active: meter.createUpDownCounter('shedlock.execution.active', {
      unit: '{execution}',
      description: 'Tasks that run under a lock now',
    }),
  }
}

/** Observed only when metrics are collected. */
export function observeAge(
  meter: Meter,
  read: (observe: (value: number, attributes: Attributes) => void) => Promise<void>,
): void {
  meter
    .createObservableGauge('shedlock.lock.age', {
      unit: 's',
      description: 'Since anybody took the lock last',
    })
    .addCallback((result) =>
      read((value, attributes) => {
        result.observe(value, attributes)
      }),
    )
}
