import type { Duration } from './duration'
import { later, Lease, type Clock } from './lease'
import type {
  Acquisition,
  LockConfiguration,
  LockOptions,
  LockProvider,
  RefusalReason,
  SimpleLock,
} from './lock'
import {
  checkDuration,
  checkLockConfiguration,
  checkOptions,
  SLOT_AT_MOST_AHEAD,
  slotTooFarAhead,
  type CheckedLockConfiguration,
} from './lock-configuration'
import { simpleLock } from './simple-lock'
import { time } from './time'

/** What a row is in a table. */
interface Entry {
  lease: Lease
  /** Milliseconds since 1970: the slot, or when it was locked. It grows with every acquisition. */
  readonly lockedAt: number
  readonly hasSlots: boolean
}

/** Options of an `InMemoryLockProvider`. */
export interface InMemoryLockProviderOptions {
  /** How far a slot may lie in the future before it is refused as a mistake. Default 1 hour. */
  readonly slotAtMostAhead?: Duration | undefined
}

/**
 * Keeps locks in this object, for unit tests and for apps of a single process: no lock outlives or leaves the process.
 * Share one provider among all that are to exclude each other. Names that were locked with a slot are remembered until
 * `clear()`, as rows of a table are.
 */
export class InMemoryLockProvider implements LockProvider {
  readonly description = 'the memory of this process, which other instances do not see'
  readonly #clock: Clock | undefined
  readonly #slotAtMostAhead: number
  readonly #entries = new Map<string, Entry>()
  #sweepAt = 100

  /**
   * @param clock for leases; default: the monotonic clock, `performance`. Slots and tokens are of the wall clock, `Date`
   * @throws LockError `INVALID_CONFIGURATION`
   */
  constructor(clock?: Clock, options: InMemoryLockProviderOptions = {}) {
    checkOptions(options, ['slotAtMostAhead'], 'in-memory provider options')
    this.#clock = clock
    this.#slotAtMostAhead = checkDuration(
      undefined,
      'slotAtMostAhead',
      options.slotAtMostAhead ?? SLOT_AT_MOST_AHEAD,
    )
  }

  /**
   * @returns the lock, or `undefined` if it is held, or its slot was given already
   * @throws LockError `INVALID_CONFIGURATION`; the reason of `signal`, if it has aborted
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- a wrong configuration rejects, as with every provider
  async lock(
    configuration: LockConfiguration,
    { signal, onRefused }: LockOptions = {},
  ): Promise<SimpleLock | undefined> {
    const checked = checkLockConfiguration(configuration)
    signal?.throwIfAborted()
    const refused = this.#refusal(checked)
    if (refused) {
      onRefused?.(refused)
      return undefined
    }
    this.#forgetExpired()
    return simpleLock(checked.name, this.#acquire(checked))
  }

  /** Whether somebody holds the lock at this moment. */
  isLocked(name: string): boolean {
    return (this.#entries.get(name)?.lease.remaining() ?? 0) > 0
  }

  /** Releases all locks, whoever holds them, and forgets their slots: for the time between two tests. */
  clear(): void {
    this.#entries.clear()
  }

  #refusal({ name, slot }: CheckedLockConfiguration): RefusalReason | undefined {
    if (this.isLocked(name)) return 'held'
    if (slot === undefined) return undefined
    const before = this.#entries.get(name)?.lockedAt ?? 0
    if (before >= slot) return 'already-run'
    if (slot > time.wall() + this.#slotAtMostAhead) throw slotTooFarAhead(name, slot, this.#slotAtMostAhead)
    return undefined
  }

  #acquire({ name, lockAtMostFor, lockAtLeastFor, slot }: CheckedLockConfiguration): Acquisition {
    const before = this.#entries.get(name)
    const entry: Entry = {
      lease: new Lease(lockAtMostFor, this.#clock),
      lockedAt: slot ?? Math.max(time.wall(), (before?.lockedAt ?? 0) + 1),
      hasSlots: slot !== undefined || before?.hasSlots === true,
    }
    const late = slot === undefined ? 0 : time.wall() - slot
    let atLeast = new Lease(lockAtLeastFor && lockAtLeastFor - late, this.#clock)
    const isMine = (): boolean => this.#entries.get(name) === entry && this.isLocked(name)
    this.#entries.set(name, entry)
    return {
      lease: entry.lease,
      // eslint-disable-next-line @typescript-eslint/require-await
      extend: async (duration, atLeastFromNow) => {
        if (!isMine()) return undefined
        if (atLeastFromNow !== undefined) atLeast = new Lease(atLeastFromNow, this.#clock)
        return (entry.lease = later(entry.lease, new Lease(duration, this.#clock)))
      },
      // eslint-disable-next-line @typescript-eslint/require-await
      fencingToken: async () => (isMine() ? entry.lockedAt : undefined),
      // eslint-disable-next-line @typescript-eslint/require-await
      unlock: async (early) => {
        if (!isMine()) return
        const left = early ? 0 : Math.min(atLeast.remaining(), entry.lease.remaining())
        const lease = new Lease(left, this.#clock)
        this.#entries.set(name, { ...entry, lease, lockedAt: entry.lockedAt - (early ? 1 : 0) })
      },
    }
  }

  /** Once in a while, so that it costs little however many names there are. What is forgotten still has a smaller token. */
  #forgetExpired(): void {
    if (this.#entries.size < this.#sweepAt) return
    const now = time.wall()
    for (const [name, { lockedAt, hasSlots }] of this.#entries)
      if (!hasSlots && lockedAt < now && !this.isLocked(name)) this.#entries.delete(name)
    this.#sweepAt = Math.max(100, 2 * this.#entries.size)
  }
}
