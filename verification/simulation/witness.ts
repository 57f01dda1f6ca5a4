import type { ActiveLock } from '../../src/core/lock'
import type { LastRun } from '../../src/sql/owner'
import type { LockEvent, ProcessEntry } from '../history/events'
import { RELEASED } from '../history/history'
import { judge, violationsOf } from '../history/referee'
import type { Database, Observer, Request, Transaction } from './database'
import type { Change, LockRow } from './model/table'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** An acquired lock, as its holder sees it. */
export interface Handle {
  readonly name: string
  readonly owner: string
  readonly process: SimulatedProcess
  /** When it was requested, and when the answer arrived, in simulated milliseconds. */
  readonly asked: number
  readonly at: number
  /** The lock. Before the holder has it, only the lease of its acquisition. */
  lock: Pick<ActiveLock, 'remaining'>
  /** Until when its holder considers it held, as recorded. */
  until: number
  /** How its run ended. */
  outcome: LastRun['outcome']
  /** Whether a task has begun under it. */
  isUsed: boolean
  /** Whether its holder has begun to release it. */
  isOver: boolean
}

/** In milliseconds. */
export interface Durations {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
}

/** In milliseconds, how late a statement may arrive and run, in the worst case. */
const VERY_LATE = 60_000
/** In milliseconds, the error of floating-point numbers. */
const ROUNDING = 1e-3

/** Records what happens in a world, in the format of the processes' history, whose referee judges it. */
export class Witness implements Observer {
  acquisitions = 0
  refusals = 0
  errors = 0
  /** When each lock was last acquired, in simulated milliseconds. */
  readonly lastTaken = new Map<string, number>()
  readonly #events: LockEvent[] = []
  /** The handles of each lock whose holders may still consider it held. */
  readonly #handles = new Map<string, Set<Handle>>()
  /** The handle of each lock under which a task began last. */
  readonly #latest = new Map<string, Handle>()
  /** Who acquired a lock in the database, and when: in simulated milliseconds, and by the database's clock. */
  readonly #grants = new Map<string, { process: SimulatedProcess; since: number; acquiredAt: number }>()
  readonly #durations = new Map<string, Durations>()
  readonly #undone = new Set<string>()

  constructor(
    private readonly world: World,
    private readonly database: Database,
    /** By how much a process's clock may be faster than the database's: 2e-4 for 200 millionths. */
    private readonly drift: number,
  ) {}

  /** Sets the durations with which all processes request this lock. */
  expect(name: string, durations: Durations): void {
    this.#durations.set(name, durations)
  }

  record({ name }: SimulatedProcess, entry: ProcessEntry): void {
    this.#events.push({ process: name, ...entry })
  }

  /** Applies the rules of all harnesses, and reports the first property that does not hold. */
  judge(): void {
    const limits: LockEvent = {
      ...{ type: 'limits', tolerance: ROUNDING, drift: this.drift, timeLimit: 0, longestUntaken: Infinity },
      latestDelivery: VERY_LATE + this.database.lateBy,
    }
    const [first] = violationsOf(judge([limits, ...this.#events])).toSorted(
      (one, other) => (one.at ?? Infinity) - (other.at ?? Infinity),
    )
    if (first) this.world.fail(first.rule, first.what, first.at)
  }

  acquired(
    name: string,
    owner: string,
    process: SimulatedProcess,
    asked: number,
    lock: Handle['lock'],
  ): Handle {
    this.acquisitions++
    const handle: Handle = {
      ...{ name, owner, process, asked, at: this.world.now, lock, until: 0 },
      ...{ outcome: 'unlocked', isUsed: false, isOver: false },
    }
    handle.until = this.#trustedUntil(handle)
    const handles = this.#handles.get(name) ?? new Set()
    this.#handles.set(name, handles.add(handle))
    return handle
  }

  /** Records that the task of an acquisition has begun. @param until whether the slot may be acquired again until it has succeeded */
  started(handle: Handle, slot?: number, until = false): void {
    const { name, owner: run, process, asked, at } = handle
    handle.isUsed = true
    this.#latest.set(name, handle)
    const { lockAtMostFor = 0, lockAtLeastFor = 0 } = this.#durations.get(name) ?? {}
    const notBefore = handle.until - (lockAtMostFor - lockAtLeastFor) / process.rate
    this.record(process, {
      ...{ type: 'acquired', at, asked, run, name, lockAtMostFor, until: handle.until },
      notBefore: lockAtLeastFor > 0 ? notBefore : asked,
    })
    if (slot !== undefined) this.record(process, { type: 'slot', at: this.world.now, run, name, slot, until })
  }

  /** Records that the holder begins to release its lock. */
  releases(handle: Handle): void {
    this.#readLeases(handle.name)
    handle.isOver = true
    const { owner: run, outcome } = handle
    const succeeded = outcome === 'unlocked' ? undefined : outcome === 'succeeded'
    this.record(handle.process, { type: 'ended', at: this.world.now, run, succeeded })
  }

  onChange({ before, after }: Change, { process, values }: Request, now: number): void {
    const { lockedBy: owner = '' } = values
    const name = (before ?? after)?.name ?? ''
    this.world.trace('database', `${describe(before, now)} → ${describe(after, now)}  (${process.name})`)
    this.#readLeases(name)
    this.#recordRow(name, after, now)
    if (after?.locked_by !== owner || before?.locked_by === owner) return
    this.#grants.set(owner, { process, since: this.world.now, acquiredAt: now })
    if (!owner.startsWith('paused by ')) this.lastTaken.set(name, this.world.now)
  }

  /**
   * Checks that the release of an unused lock changes its row even if its lease is over, so that its slot
   * can be acquired again.
   */
  onNothing({ process, statement, values: { name = '', lockedBy, unlockedBy } }: Request): void {
    if (unlockedBy === undefined || this.database.table.row(name)?.locked_by !== lockedBy) return
    if (statement.pieces.some((piece) => piece.includes('"locked_at" = ')))
      this.world.fail('refusals', `${process.name} released ${name} unused, but nothing changed`)
  }

  onCommit({ guarded, process }: Transaction): void {
    for (const [name, run] of guarded) {
      this.world.trace(process.name, `committed under ${name}`)
      const seen = this.database.table.row(name)?.locked_by ?? 'nobody'
      this.#events.push({ type: 'commit', run, name, guarded: true, seen })
    }
  }

  onUnlockUndone(name: string): void {
    const row = this.database.table.row(name)
    if (!row) return
    if (this.#events.some((event) => event.type === 'slot' && event.name === name))
      this.world.fail('outcomes', `${name} lost the outcome of its slot's run in a crash`)
    this.#undone.add(row.locked_by)
    this.onDestroyed(name)
    this.#recordRow(name, row)
  }

  /** Leases now end at another time. */
  onClock(): void {
    for (const row of this.database.table.rows()) this.#recordRow(row.name, row)
  }

  /** Records that a row was deleted by hand, and with it its tokens and slots. */
  onDestroyed(name: string): void {
    const { now } = this.world
    const wall = this.database.now()
    this.#events.push({
      ...{ type: 'fault', fault: 'row lost', from: now, to: now, wallFrom: wall, wallTo: wall },
      ...{ blocks: false, destroys: true, name },
    })
    this.#recordRow(name, undefined)
  }

  /** Returns the rows that are still held, for no good reason, after all processes have ended or were killed. */
  heldByNobody(): LockRow[] {
    const now = this.database.now()
    return this.database.table.rows().filter((row) => {
      if (row.lock_until <= now || this.#undone.has(row.locked_by)) return false
      const grant = this.#grants.get(row.locked_by)
      // If a request arrives after its process began to shut down, nothing may be left to release the row.
      if (grant && (grant.process.leavesLocks || grant.since > grant.process.stoppingSince)) return false
      const { owner = '' } = this.#latest.get(row.name) ?? {}
      const acquiredAt = this.#grants.get(owner)?.acquiredAt ?? 0
      // The holder computes what is left of lockAtLeastFor, and counts from the answer to its acquisition, so allow for late
      // messages.
      const atLeast = this.#durations.get(row.name)?.lockAtLeastFor ?? 0
      return row.lock_until > (RELEASED.test(row.locked_by) ? acquiredAt + atLeast + 40_000 : 0)
    })
  }

  /** Returns whether the lock is held legitimately, or was left held by a process that died. */
  isLeftHeld(name: string): boolean {
    const row = this.database.table.row(name)
    if (!row || row.lock_until <= this.database.now()) return false
    const { process } = this.#grants.get(row.locked_by) ?? {}
    return (
      this.#undone.has(row.locked_by) ||
      process?.leavesLocks === true ||
      this.#alive(name).some((handle) => this.#trustedUntil(handle) > this.world.now)
    )
  }

  /** @param now the time that the statement used, which may have waited since */
  #recordRow(name: string, row: LockRow | undefined, now?: number): void {
    const clock = this.database.now()
    const { locked_by: lockedBy = null, lock_until: lockUntil = 0, locked_at: lockedAt = 0 } = row ?? {}
    this.#events.push({
      ...{ type: 'change', seq: this.#events.length, at: now ?? clock, name, lockedBy, lockUntil, lockedAt },
      exact: { at: this.world.now, end: this.world.now + lockUntil - clock },
    })
  }

  /** Records which leases were extended, as their holders see it. */
  #readLeases(name: string): void {
    for (const handle of this.#alive(name)) {
      const until = this.#trustedUntil(handle)
      if (until <= handle.until + ROUNDING) continue
      handle.until = until
      this.record(handle.process, { type: 'extended', at: this.world.now, run: handle.owner, until })
    }
  }

  #alive(name: string): Handle[] {
    const handles = this.#handles.get(name) ?? new Set()
    for (const handle of handles)
      if (handle.isOver || handle.process.isDead || this.#trustedUntil(handle) <= this.world.now)
        handles.delete(handle)
    return [...handles].filter(({ isUsed }) => isUsed)
  }

  #trustedUntil({ process, lock }: Handle): number {
    return this.world.now + this.world.as(process, () => lock.remaining()) / process.rate
  }
}

function short(owner: string | undefined): string {
  return String(owner).replace(/-[\da-f-]{27}$/, '')
}

function describe(row: LockRow | undefined, now: number): string {
  if (!row) return 'no row'
  const left = row.lock_until - now
  return `${row.name} ${short(row.locked_by)} ${left > 0 ? `held for ${left} ms` : 'free'}, locked_at ${row.locked_at % 1e8}`
}
