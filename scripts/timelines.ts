import { InMemoryLockProvider } from '../src/core/in-memory-lock-provider'
import type { Lock } from '../src/core/lock'
import { FakeClock } from '../src/testing/unit-test-support'

/** One picture of docs/schedulers.md. Durations are in minutes. */
export interface Case {
  readonly file: string
  readonly run: number
  readonly lockAtMostFor: number
  readonly lockAtLeastFor?: number
  /** How far B's clock is behind. */
  readonly late?: number
  /** After how long the first run is killed. */
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

/** The job is due every 15 minutes. */
export const EVERY = 15
export const MINUTES = 48
const MINUTE = 60_000
/** In milliseconds, how late ticks are: timers are never exact, so every other tick is a little less late. */
const JITTER = [20, 10]

interface Instance {
  readonly label: string
  readonly late: number
  readonly minutes: Minute[]
  run?: { readonly lock: Lock; readonly since: number }
  /** Whether this instance acquired the lock last. */
  owner: boolean
}

/** What an instance does in a minute: it runs, runs on after its lock has ended, skips, keeps the lock after its run or death, is killed, or nothing. */
export type Minute = 'runs' | 'outlives' | 'skips' | 'locked' | 'killed' | undefined

/** Plays a case with the real library: what two instances A and B with one lock do, minute by minute. */
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
    // The instances take turns at being first.
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
        for (const other of instances) other.owner = other === instance
        instance.run = { lock, since: minute }
      }
    }
    until((minute + 0.5) * MINUTE)
    for (const instance of instances) {
      const waiting = instance.owner && provider.isLocked('job') ? 'locked' : undefined
      const runs = instance.run && (instance.run.lock.remaining() > 0 ? 'runs' : 'outlives')
      instance.minutes.push(now[instance.label] ?? runs ?? waiting)
    }
  }
  return [a.minutes, b.minutes]
}
