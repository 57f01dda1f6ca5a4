import { InMemoryLockProvider, type Lock } from '../src/core/internal'
import { FakeClock } from '../src/testing'

/** One picture of docs/guides/durations.md; durations are in minutes. */
export interface Case {
  readonly file: string
  readonly run: number
  readonly lockAtMostFor: number
  readonly lockAtLeastFor?: number
  /** By how much B's clock is late. */
  readonly late?: number
  /** How long the first run lives, if it is killed. */
  readonly killedAfter?: number
}

export const CASES: readonly Case[] = [
  { file: 'one-runs', run: 3, lockAtMostFor: 10 },
  { file: 'late-clock', run: 1, lockAtMostFor: 10, late: 1 },
  { file: 'at-least', run: 1, lockAtMostFor: 10, lockAtLeastFor: 3, late: 1 },
  { file: 'long-run', run: 20, lockAtMostFor: 60 },
  { file: 'expired', run: 20, lockAtMostFor: 10 },
  { file: 'at-least-too-long', run: 1, lockAtMostFor: 20, lockAtLeastFor: 15 },
  { file: 'killed', run: 3, lockAtMostFor: 20, killedAfter: 2 },
]

/** A job is due every quarter of an hour. */
export const EVERY = 15
export const MINUTES = 48
const MINUTE = 60_000
/** A tick does not come to the millisecond: each second one comes a little sooner after its minute. */
const JITTER = [20, 10]

interface Instance {
  readonly label: string
  readonly late: number
  readonly minutes: Minute[]
  run?: { readonly lock: Lock; readonly since: number }
  /** Whether the last lock was its own. */
  owner: boolean
}

/** What an instance does in a minute: it runs, skips, keeps the lock after its run or death, is killed, or nothing. */
export type Minute = 'runs' | 'skips' | 'locked' | 'killed' | undefined

/** Two instances, A and B, and one lock, minute by minute, as the library decides. */
export async function timeline(given: Case): Promise<readonly [Minute[], Minute[]]> {
  const clock = new FakeClock()
  const provider = new InMemoryLockProvider(clock)
  const { run, lockAtMostFor, lockAtLeastFor = 0, late = 0, killedAfter } = given
  const a: Instance = { label: 'A', late: 0, minutes: [], owner: false }
  const b: Instance = { label: 'B', late, minutes: [], owner: false }
  const instances = [a, b]
  const until = (time: number): void => {
    clock.advance(Math.max(0, time - clock.now()))
  }
  let killed = false

  for (let minute = 0; minute < MINUTES; minute++) {
    const jitter = JITTER[Math.floor(minute / EVERY) % JITTER.length] ?? 0
    until(minute * MINUTE + jitter)
    const now: Partial<Record<string, Minute>> = {}
    for (const instance of instances) {
      if (!instance.run) continue
      if (killedAfter !== undefined && !killed && minute - instance.run.since === killedAfter) {
        killed = true
        delete instance.run
        now[instance.label] = 'killed'
      } else if (minute - instance.run.since === run) {
        await instance.run.lock.unlock()
        delete instance.run
      }
    }
    // Who is first differs from tick to tick.
    const order = Math.floor(minute / EVERY) % 2 === 0 ? instances : instances.toReversed()
    for (const instance of order) {
      if ((minute - instance.late) % EVERY !== 0 || minute < instance.late || instance.run) continue
      if (killed && instance.label === 'A') continue
      const lock = await provider.lock({
        name: 'job',
        lockAtMostFor: lockAtMostFor * MINUTE,
        lockAtLeastFor: lockAtLeastFor * MINUTE,
      })
      if (!lock) now[instance.label] = 'skips'
      else {
        for (const each of instances) each.owner = each === instance
        instance.run = { lock, since: minute }
      }
    }
    until((minute + 0.5) * MINUTE)
    for (const instance of instances) {
      const waiting = instance.owner && provider.isLocked('job') ? 'locked' : undefined
      instance.minutes.push(now[instance.label] ?? (instance.run ? 'runs' : waiting))
    }
  }
  return [a.minutes, b.minutes]
}
