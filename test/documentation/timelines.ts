import { InMemoryLockProvider, type SimpleLock } from '../../src/core'
import { FakeClock } from '../../src/testing'

/** In minutes. */
export interface Case {
  readonly title: string
  readonly run: number
  readonly lockAtMostFor: number
  readonly lockAtLeastFor?: number
  /** By how much B's clock is late. */
  readonly late?: number
  /** How long the first run lives, if it is killed. */
  readonly killedAfter?: number
}

const EVERY = 15
const MINUTES = 48
const MINUTE = 60_000
/** A tick does not come to the millisecond: each second one comes a little sooner after its minute. */
const JITTER = [20, 10]

interface Instance {
  readonly label: string
  readonly late: number
  line: string
  run?: { readonly lock: SimpleLock; readonly since: number }
  /** Whether the last lock was its own. */
  owner: boolean
}

/** Two instances and one lock, a character for each minute, as the library decides. */
export async function timeline(given: Case): Promise<string> {
  const clock = new FakeClock()
  const provider = new InMemoryLockProvider(clock)
  const { run, lockAtMostFor, lockAtLeastFor = 0, late = 0, killedAfter } = given
  const instances: Instance[] = [
    { label: 'A', late: 0, line: '', owner: false },
    { label: 'B', late, line: '', owner: false },
  ]
  const until = (time: number): void => {
    clock.advance(Math.max(0, time - clock.now()))
  }
  let killed = false

  for (let minute = 0; minute < MINUTES; minute++) {
    const jitter = JITTER[Math.floor(minute / EVERY) % JITTER.length] ?? 0
    until(minute * MINUTE + jitter)
    const now: Partial<Record<string, string>> = {}
    for (const instance of instances) {
      if (!instance.run) continue
      if (killedAfter !== undefined && !killed && minute - instance.run.since === killedAfter) {
        killed = true
        delete instance.run
        now[instance.label] = '✗'
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
      if (!lock) now[instance.label] = '·'
      else {
        for (const each of instances) each.owner = each === instance
        instance.run = { lock, since: minute }
      }
    }
    until((minute + 0.5) * MINUTE)
    for (const instance of instances) {
      const waiting = instance.owner && provider.isLocked('job') ? '░' : ' '
      instance.line += now[instance.label] ?? (instance.run ? '█' : waiting)
    }
  }
  const lines = instances.map(({ label, line }) => `  ${label}  ${line}`.trimEnd())
  return [given.title, ...lines].join('\n')
}

/** The minutes at which a job that is due every quarter of an hour fires. */
export const AXIS = `     ${['0', '15', '30', '45'].map((minute) => minute.padEnd(EVERY)).join('')}`.trimEnd()
