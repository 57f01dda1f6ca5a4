import { sharedByEveryCopy } from './copies'
import type { Acquisition, CheckedLockConfiguration, Refusal } from './lock'
import { LockProvider } from './lock-provider'
import { SLOT_AT_MOST_AHEAD, tokenOfRetry } from './slots'
import { Lease, time } from './time'

/** What a lock table keeps in a row. */
interface Entry {
  lease: Lease
  /** Milliseconds since 1970: the slot, or the time of the acquisition. Grows with every acquisition. */
  readonly lockedAt: number
  readonly hasSlots: boolean
  /** Whether the last run succeeded. */
  readonly succeeded: boolean
}

/** Acquisitions that no other process can take over. A `guard` checks only whether they are still held. */
export const inMemory = sharedByEveryCopy('inMemory', () => new WeakSet<Acquisition>())

/**
 * Keeps locks in this object, for unit tests and for apps that are a single process: the locks end with the process, and no other
 * process sees them. Tasks exclude each other only if they share one provider. Names that were locked with a slot are remembered
 * until `clear()`, as rows of a table are.
 */
export class InMemoryLockProvider extends LockProvider {
  /** Where the locks are kept, for logs. */
  override readonly description = 'the memory of this process, which other instances do not see'
  readonly #clock: { now(): number } | undefined
  readonly #entries = new Map<string, Entry>()
  #sweepAt = 100

  /** @param clock for leases: counts milliseconds, and never goes back. Default: the monotonic clock, `performance`. Slots and tokens use the wall clock, `Date` */
  constructor(clock?: { now(): number }) {
    super()
    this.#clock = clock
  }

  /**
   * Tries to acquire the lock once.
   *
   * @returns the lock, or a refusal if it is held or was already acquired for its slot
   */
  // oxlint-disable-next-line typescript/require-await
  async acquire(configuration: CheckedLockConfiguration): Promise<Acquisition | Refusal> {
    const token = this.#token(configuration)
    if (typeof token === 'object') return token
    this.#forgetExpired()
    return this.#acquire(configuration, token)
  }

  /** Returns whether the lock is held at this moment. */
  isLocked(name: string): boolean {
    return (this.#entries.get(name)?.lease.remaining() ?? 0) > 0
  }

  /** Releases all locks, including those that a task still holds, and forgets their slots. Call it between two tests. */
  clear(): void {
    this.#entries.clear()
  }

  /** Returns `lockedAt` of the new acquisition, or why it is refused. */
  #token({ name, slot, untilSucceeded }: CheckedLockConfiguration): number | Refusal {
    if (this.isLocked(name)) return { reason: 'held' }
    const now = time.wall()
    const { lockedAt = 0, succeeded = false } = this.#entries.get(name) ?? {}
    if (slot === undefined) return Math.max(now, lockedAt + 1)
    if (lockedAt >= slot) {
      const retry = untilSucceeded && !succeeded ? tokenOfRetry(slot, lockedAt) : undefined
      return retry ?? { reason: 'already-run' }
    }
    if (slot > now + SLOT_AT_MOST_AHEAD) return { reason: 'slot-too-far-ahead', now }
    return slot
  }

  #acquire(
    { name, lockAtMostFor, lockAtLeastFor, slot }: CheckedLockConfiguration,
    lockedAt: number,
  ): Acquisition {
    const entry: Entry = {
      lease: new Lease(lockAtMostFor, this.#clock),
      lockedAt,
      hasSlots: slot !== undefined || this.#entries.get(name)?.hasSlots === true,
      succeeded: false,
    }
    let atLeast = new Lease(lockAtLeastFor, this.#clock)
    const isOwnEntry = (): boolean => this.#entries.get(name) === entry && this.isLocked(name)
    this.#entries.set(name, entry)
    const acquisition: Acquisition = {
      lease: entry.lease,
      // oxlint-disable-next-line typescript/require-await
      extend: async (duration, newAtLeast) => {
        if (!isOwnEntry()) return undefined
        if (newAtLeast !== undefined) atLeast = atLeast.lasting(newAtLeast)
        return (entry.lease = Lease.longer(entry.lease, new Lease(duration, this.#clock)))
      },
      // oxlint-disable-next-line typescript/require-await
      fencingToken: async () => (isOwnEntry() ? entry.lockedAt : undefined),
      // oxlint-disable-next-line typescript/require-await
      unlock: async (outcome) => {
        if (this.#entries.get(name) !== entry) return
        const unused = outcome === 'unused'
        const left = unused ? 0 : atLeast.remaining()
        this.#entries.set(name, {
          ...entry,
          lease: new Lease(left, this.#clock),
          lockedAt: entry.lockedAt - (unused && slot !== undefined ? 1 : 0),
          succeeded: outcome === 'succeeded',
        })
      },
    }
    inMemory.add(acquisition)
    return acquisition
  }

  /**
   * Deletes expired entries, but rarely, so that this costs little, however many names there are. Keeps a token that is not yet in
   * the past, because the next one must be greater.
   */
  #forgetExpired(): void {
    if (this.#entries.size < this.#sweepAt) return
    const now = time.wall()
    for (const [name, { lockedAt, hasSlots }] of this.#entries)
      if (!hasSlots && lockedAt < now && !this.isLocked(name)) this.#entries.delete(name)
    this.#sweepAt = Math.max(100, 2 * this.#entries.size)
  }
}
