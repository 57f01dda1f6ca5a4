import type { Duration } from '../../src/core/lock'

/** A typical job of an app. Numbers are in milliseconds. */
export interface Job {
  readonly name: string
  readonly every: number
  readonly lockAtMostFor: Duration
  readonly runsFor: readonly [number, number]
  /** Whether each slot runs at most once. */
  readonly slot?: true
  /** Whether each slot is repeated until it has succeeded. */
  readonly untilSucceeded?: true
  readonly keepAlive?: true
}

export const JOBS: readonly Job[] = [
  { name: 'often', every: 200, lockAtMostFor: '10s', runsFor: [20, 150] },
  { name: 'often, slots', every: 200, lockAtMostFor: '10s', runsFor: [10, 100], slot: true },
  { name: 'long, kept alive', every: 200, lockAtMostFor: '4s', runsFor: [500, 6_000], keepAlive: true },
  { name: 'five seconds', every: 5_000, lockAtMostFor: '10s', runsFor: [200, 3_000] },
  {
    name: 'five seconds, until succeeded',
    every: 5_000,
    lockAtMostFor: '8s',
    runsFor: [100, 2_000],
    slot: true,
    untilSucceeded: true,
  },
]

/** An additional job for runs of three minutes or more. */
export const MINUTE: Job = {
  name: 'minute',
  every: 60_000,
  lockAtMostFor: '30s',
  runsFor: [100, 500],
  slot: true,
}
