import { Lease, time } from '../core'
import type { Asking } from './asking'
import type { AcquireOutcome, AcquireStep } from './dialect'
import type { ErrorKind } from './error-kind'
import type { Holder } from './holder'
import type { Row } from './sql-executor'

/** The outcome of a step, and what it saw: the row of who holds the lock, if it saw one. */
export interface Seen<Outcome = AcquireOutcome> {
  readonly outcome: Outcome
  readonly row?: Row | undefined
}

/** The outcome of an attempt to acquire the lock. `ahead`: its slot is too far in the future. */
export type Taken = Seen<Exclude<AcquireOutcome, 'free'>>

/** What is asked for. */
export interface LockRequest {
  readonly holder: Holder
  /** In milliseconds. */
  readonly lockAtMostFor: number
  /** In milliseconds since 1970. */
  readonly slot?: number | undefined
}

/** What it uses of `LockRows`. */
interface Rows {
  readonly timeLimit: number
  see(step: AcquireStep, request: LockRequest): Promise<Seen>
  free(holder: Holder, lockAtLeastFor: 'unused', reach: Lease, mayStillTake: () => boolean): Promise<void>
  errorKind(error: unknown): ErrorKind
}

/** How often a lost race is retried before the lock counts as held. */
const CONFLICTS_TO_BEAR = 3
const HELD: Taken = { outcome: 'held' }

/** Takes a row by the steps of its dialect; and gives it back if it comes when nobody waits for it any more. */
export async function take(
  rows: Rows,
  asking: Asking,
  steps: readonly AcquireStep[],
  request: LockRequest,
): Promise<Taken> {
  let taking: Promise<Seen> | undefined

  /** @returns `undefined` when another was faster */
  const takeOnce = async (stillWanted: () => boolean): Promise<Taken | undefined> => {
    for (const step of steps) {
      if (!stillWanted()) return HELD
      const seeing = rows.see(step, request)
      if (step.kind !== 'look') taking = seeing
      const { outcome, row } = await seeing
      if (outcome !== 'free') return { outcome, row }
    }
    // With a slot it is not known what became of that.
    return request.slot === undefined ? HELD : undefined
  }
  const attempt = async (stillWanted: () => boolean): Promise<Taken> => {
    for (let conflicts = 0; conflicts <= CONFLICTS_TO_BEAR && stillWanted(); conflicts++) {
      try {
        const taken = await takeOnce(stillWanted)
        if (taken) return taken
      } catch (error) {
        if (rows.errorKind(error) !== 'conflict') throw error
      }
    }
    return HELD
  }
  const late = (): void => {
    if (taking) void freeBehind(rows, taking, request)
  }
  const { name } = request.holder
  return asking.ask({ lockName: name, within: rows.timeLimit, again: ['busy'], attempt, late })
}

/** If nobody knows whether the row was taken, it is given back: else it would be held by no one until its lease ends. */
async function freeBehind(
  rows: Rows,
  taking: Promise<Seen>,
  { holder, lockAtMostFor }: LockRequest,
): Promise<void> {
  let answered = false
  const free = (mayStillTake: () => boolean): Promise<void> =>
    rows.free(holder, 'unused', new Lease(lockAtMostFor), mayStillTake)
  // A connection whose other end is gone may tell so only after a quarter of an hour.
  const silent = (): void => void free(() => !answered)
  const cancel = time.after(rows.timeLimit, silent, false)
  const outcome = await taking.then(
    (seen) => seen.outcome,
    (error: unknown) => (rows.errorKind(error) === 'unanswered' ? 'perhaps' : 'free'),
  )
  answered = true
  cancel()
  if (outcome === 'taken') await free(() => false)
  if (outcome === 'perhaps') await free(() => true)
}
