import { Deadline, inTime, time, type Lease } from '../core/internal'
import type { ClientState } from './client-state'
import { Failure } from './failures'
import type { PendingRelease } from './release-queue'

/** A write that acquires a row, if it arrives. */
export interface Write {
  /** What it did. `lost`: no answer will come, as after its session was ended, but the statement itself may still arrive. */
  readonly effect: 'pending' | 'acquired' | 'nothing' | 'lost'
  /** Resolves once `effect` is no longer `pending`. */
  readonly answered: Promise<void>
}

/** A row that may be held although nobody uses it. */
export interface Debt {
  /** Once this is over, the row has expired by itself. */
  readonly lease: Lease
  /** The write that may have acquired the row. Absent: every write has been answered, so one release is enough. */
  readonly write?: Write | undefined
  /** How long to wait for an answer, to the write and to a release. In milliseconds. */
  readonly timeLimit: number
  /** Sends the release once, and waits until the deadline. @returns how many rows it changed */
  readonly release: (deadline: Deadline) => Promise<number | Failure>
}

/** How the interval grows while another session has locked the row, in milliseconds. */
const WHILE_BUSY = { first: 200, growth: 2, longest: 10_000 }
/** How the interval grows for a row that was not found. It grows fast, because a late statement usually arrives soon. */
const UNTIL_FOUND = { first: 600, growth: 6, longest: 300_000 }
/** How long to wait before one more release, if two are still under way; twice as long after each further one. In milliseconds. */
const AFTER_TWO_SILENT = 120_000
/** How long before the end of a drain its last attempt ends: a pool that is closed then would wait for its session. */
const BEFORE_THE_END = 50

function intervalAfter(attempts: number, { first, growth, longest }: typeof UNTIL_FOUND): number {
  return time.jittered(Math.min(first * growth ** (attempts - 1), longest))
}

/**
 * The releases that settle one debt, until one is enough:
 *
 * | the write | a release found the row | it found none                                   | no answer |
 * | --------- | ----------------------- | ----------------------------------------------- | --------- |
 * | acquired  | settled                 | settled                                         | again     |
 * | lost      | settled                 | again later; in a drain, only if it is the first | again     |
 * | pending   | settled                 | again later                                     | again     |
 *
 * One is not enough for a write that is lost: a server may be executing it at this moment, as when it waited for a lock while its
 * client gave up.
 */
class Settlement implements PendingRelease {
  due = time.now()
  #notFound = 0
  #busy = 0
  #silent = 0

  constructor(
    private readonly debt: Debt,
    private readonly debtors: readonly Debts[],
    private readonly shared: ClientState,
  ) {
    const { write, timeLimit } = debt
    // Its answer may still come, but is not waited for any longer: a dead connection may take a quarter of an hour to fail. A drain does
    // not wait for it at all.
    if (write && debtors.every(({ isOpen }) => isOpen)) this.due += timeLimit
    for (const debtor of debtors) debtor.add(this)
    shared.releases.add(this)
    void write?.answered.then(() => {
      if (write.effect === 'nothing') this.drop()
      else this.wake()
    })
  }

  /** Sends the next release as soon as it is its turn. */
  wake(): void {
    this.due = time.now()
    this.#busy = 0
    this.shared.releases.schedule()
  }

  drop(): void {
    this.shared.releases.delete(this)
    for (const debtor of this.debtors) debtor.delete(this)
  }

  async send(givenUp: Promise<void>): Promise<boolean> {
    const { write, lease, timeLimit, release } = this.debt
    // Read this before the attempt: the statement that acquires the row may arrive, and be answered, while this release waits.
    const effect = write ? write.effect : 'acquired'
    const limit = Math.min(timeLimit, ...this.debtors.map((debtor) => debtor.leftForAttempts()))
    if (limit <= 0) return false
    const changed = await release(new Deadline(limit, givenUp))
    const isAnswered = !(changed instanceof Failure)
    if (isAnswered) {
      const isSecondMissInDrain = this.#notFound > 0 && this.debtors.some((debtor) => !debtor.isOpen)
      if (changed > 0 || effect === 'acquired' || (effect === 'lost' && isSecondMissInDrain)) this.drop()
      else this.#tryLater(write?.effect !== effect)
    } else if (changed.underWay) this.#noteUnanswered(changed.underWay)
    const isBusy = !isAnswered && changed.kind === 'conflict'
    if (isBusy) this.due = time.now() + intervalAfter(++this.#busy, WHILE_BUSY)
    if (lease.remaining() === 0) this.drop()
    // A row that is locked says nothing about the others.
    return isAnswered || isBusy
  }

  #tryLater(soon: boolean): void {
    this.#notFound++
    this.due = time.now() + (soon ? 0 : intervalAfter(this.#notFound, UNTIL_FOUND))
  }

  /**
   * One connection may be silent. If two do not answer, and may not be ended, the row is probably locked, and more would only wait behind
   * them. As those two may be silent as well, another one is tried after two minutes, then after four, and so on.
   */
  #noteUnanswered(underWay: Promise<unknown>): void {
    this.#silent++
    if (this.#silent > 1) this.due = time.now() + AFTER_TWO_SILENT * 2 ** (this.#silent - 2)
    void underWay.then(() => {
      this.#silent--
      this.wake()
    })
  }
}

/** What one caller of a provider, or the provider itself, has to settle, until its drain. */
export class Debts {
  /** Whether no drain has begun. Otherwise the next acquisition needs another one of these. */
  isOpen = true
  readonly #settlements = new Set<Settlement>()
  /** How many acquisitions may still add a debt. */
  #acquiring = 0
  /** When all attempts have to end, on the monotonic clock. Set by a drain. */
  #endOfAttempts = Infinity
  /** After its drain: what comes later is left to expire. */
  #isClosed = false
  /** Called when nothing is left. */
  readonly #waiting = new Set<() => void>()

  constructor(private readonly shared: ClientState) {}

  /** Adds a debt to those of several debtors, unless one of them is closed. */
  static owe(debt: Debt, debtors: readonly Debts[], shared: ClientState): void {
    if (debtors.every((debtor) => !debtor.#isClosed)) new Settlement(debt, debtors, shared)
  }

  /** Notes that an acquisition begins. Until it ends, a drain waits for it, because it may leave a debt. */
  begin(): void {
    this.#acquiring++
  }

  end(): void {
    this.#acquiring--
    if (!this.isOpen) this.#endWaits()
  }

  add(settlement: Settlement): void {
    this.#settlements.add(settlement)
  }

  delete(settlement: Settlement): void {
    this.#settlements.delete(settlement)
    this.#endWaits()
  }

  /** @returns in milliseconds; may be `Infinity` */
  leftForAttempts(): number {
    return this.#endOfAttempts - time.now()
  }

  /**
   * Sends releases until every debt is settled, and waits for acquisitions that are under way, but at most `timeout` milliseconds;
   * then drops the rest, and sends nothing more. This is final.
   */
  async drain(timeout: number): Promise<void> {
    this.isOpen = false
    this.#endOfAttempts = time.now() + timeout - Math.min(BEFORE_THE_END, timeout / 2)
    const settled = new Promise<void>((resolve) => this.#waiting.add(resolve))
    for (const settlement of this.#settlements) settlement.wake()
    this.#endWaits()
    const late = () => new Error('not settled')
    await this.shared.releases.hurryDuring(inTime(settled, timeout, late).catch(() => undefined))
    this.#isClosed = true
    for (const settlement of this.#settlements) settlement.drop()
    this.shared.sessions.closeIdle(0)
  }

  /** Ends the wait of drains if there is nothing left to wait for. */
  #endWaits(): void {
    if (this.#settlements.size > 0 || this.#acquiring > 0) return
    for (const resolve of this.#waiting) resolve()
  }
}
