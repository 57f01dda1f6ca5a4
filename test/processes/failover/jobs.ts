import type { Duration } from '../../../src/core/internal'

/** A job of an app, as often as people have them. In milliseconds. */
export interface Job {
  readonly name: string
  readonly every: number
  readonly lockAtMostFor: Duration
  readonly runsFor: readonly [number, number]
  /** Each slot runs once. */
  readonly slot?: true
  /** Each slot runs until it has succeeded. */
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

/** In the long form besides. */
export const MINUTE: Job = {
  name: 'minute',
  every: 60_000,
  lockAtMostFor: '30s',
  runsFor: [100, 500],
  slot: true,
}
