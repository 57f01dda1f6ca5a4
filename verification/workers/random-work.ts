import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { ActiveLock, TaskContext } from '../../src/core/lock'
import { monotonic, type ProcessEntry } from '../history/events'
import type { Phases } from './phases'
import type { Random } from './random'

/**
 * How long after the end of the lease an awake process may take to abort its signal. Turns of the event loop count as well as time,
 * because a busy machine may suspend the process for long within a single turn.
 */
const ABORT_GRACE = { milliseconds: 250, turns: 10 }

/** The lengths of extensions as multiples of `lockAtMostFor`: some are shorter than the remaining lease, some longer. */
const EXTENSIONS = [0.15, 0.3, 0.6, 2, 3]
export const LONGEST_EXTENSION = Math.max(...EXTENSIONS)

type Holder = Pick<TaskContext, 'signal' | 'lock'>

/** How one task spends its time. It takes less than its lease, or more, with or without extensions. */
export class RandomWork {
  readonly keepAlive: boolean
  readonly lockAtLeastFor: number
  /** Whether the task extends once more at its end. */
  readonly #hasty: boolean
  readonly #duration: number
  /** The probability of an extension at each check of the signal. */
  readonly #chanceToExtend: number

  constructor(
    private readonly lockAtMostFor: number,
    private readonly random: Random,
    private readonly phases: Phases,
    private readonly record: (entry: ProcessEntry) => void,
  ) {
    const kind = random.next()
    const short = random.between(5, lockAtMostFor / 5)
    this.#hasty = kind < 0.2
    this.keepAlive = kind >= 0.5 && kind < 0.7
    this.#chanceToExtend = kind >= 0.6 && kind < 0.95 ? 0.1 : 0
    this.#duration = kind < 0.5 ? short : lockAtMostFor * random.between(0.3, 1.6)
    const shares = this.#hasty ? [0.8, 1] : [0, 0, 0, 0.1, 0.4, 0.8]
    this.lockAtLeastFor = Math.round(lockAtMostFor * random.pick(shares))
  }

  async on(run: string, { signal, lock }: Holder): Promise<void> {
    const end = monotonic() + this.#duration
    let willing = true
    while (willing && monotonic() < end) {
      await sleep(this.random.between(2, 20))
      await this.phases.reach('working')
      if (lock.remaining() === 0 && !signal.aborted) await this.#expectAbort(run, { signal, lock })
      signal.throwIfAborted()
      if (this.random.chance(this.#chanceToExtend)) {
        const answered = await this.#extend(run, { signal, lock }, this.random.pick(EXTENSIONS))
        // Without an answer, some tasks continue with the lease that they have and some end early.
        willing = answered || this.random.chance(0.6)
      }
    }
    if (this.#hasty) await this.#extend(run, { signal, lock }, LONGEST_EXTENSION)
  }

  /** @returns whether the database answered */
  async #extend(run: string, { signal, lock }: Holder, times: number): Promise<boolean> {
    const lockAtMostFor = Math.round(this.lockAtMostFor * times)
    const lockAtLeastFor = this.random.chance(0.3) ? Math.round(lockAtMostFor * 0.7) : undefined
    const asked = monotonic()
    this.record({ type: 'extending', at: asked, run, lockAtMostFor })
    try {
      await lock.extend(lockAtMostFor, lockAtLeastFor)
    } catch (error) {
      signal.throwIfAborted()
      if (!isWithoutAnswer(error)) throw error
      return false
    }
    if (lockAtLeastFor !== undefined) this.#promise(run, lock, lockAtLeastFor)
    return true
  }

  #promise(run: string, lock: ActiveLock, lockAtLeastFor: number): void {
    const at = monotonic()
    this.record({ type: 'extended', at, run, until: at + lock.remaining(), lockAtLeastFor })
  }

  /** Expects the signal to abort, but only after a grace period: a process that just woke up must first run its timers. */
  async #expectAbort(run: string, { signal, lock }: Holder): Promise<void> {
    const since = monotonic()
    // An extension in progress may still prolong the lease, because the lock was held in the database all along.
    const over = (): boolean => !signal.aborted && lock.remaining() === 0
    // Count turns only after the grace period, because the machine may suspend the process at any point before.
    for (let turns = 0; over() && turns < ABORT_GRACE.turns;) {
      await turn()
      if (monotonic() - since >= ABORT_GRACE.milliseconds) turns++
    }
    if (over()) this.record({ type: 'unaborted', at: monotonic(), run })
  }
}

function isWithoutAnswer(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'TIMEOUT' || code === 'DATABASE_ERROR'
}
