import { SLOT_AT_MOST_AHEAD, tokenOfRetry, type ActiveLock } from '../../src/core/internal'
import { lastRunOf, type LastRun } from '../../src/sql/owner'
import type { Change, LockRow } from './model/table'
import { ENDED, type Database, type DatabaseObserver, type Request, type Transaction } from './database'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** An acquired lock, as its holder sees it. */
export interface Handle {
  readonly name: string
  readonly owner: string
  readonly process: SimulatedProcess
  /** The lock. Before the holder has it, only the lease of its acquisition. */
  lock: Pick<ActiveLock, 'remaining'>
  /** Whether a task has begun under it. */
  isUsed: boolean
  /** Whether its holder has begun to release it. */
  isOver: boolean
}

/** An acquisition as the database recorded it. */
interface Grant {
  readonly name: string
  readonly process: SimulatedProcess
  readonly lockedAt: number
  /** By the database's clock. */
  readonly acquiredAt: number
  /** When it was acquired, in simulated milliseconds. */
  readonly since: number
  readonly atLeast: number
  started: boolean
  /** How its run ended, and how long the run took, in simulated milliseconds. */
  outcome: LastRun['outcome']
  took: number
  /** The end of its lease, by the database's clock. */
  until: number
  /** Whether its release has reached the database. */
  released: boolean
}

/** In milliseconds. */
export interface Durations {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
}

/** In milliseconds after the end of a lease, by when an unused slot must have been released. */
const LONGEST_CLEAN_UP = 120_000

/** In milliseconds, the tolerance for rounding errors of floating-point numbers. */
const ROUNDING = 1e-3

/** Observes all events and reports properties that do not hold. */
export class Referee implements DatabaseObserver {
  acquisitions = 0
  refusals = 0
  errors = 0
  /** When each lock was last acquired, in simulated milliseconds. */
  readonly lastTaken = new Map<string, number>()
  readonly #lastChange = new Map<string, number>()
  readonly #handles = new Map<string, Set<Handle>>()
  readonly #grants = new Map<string, Grant>()
  readonly #lastGrant = new Map<string, Grant>()
  readonly #lastToken = new Map<string, number>()
  readonly #lastSlot = new Map<string, number>()
  /** The slot of each lock whose success the row records. */
  readonly #succeeded = new Map<string, number>()
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

  /** Records that a process has acquired the lock, and checks that no other process holds it. */
  acquired(name: string, owner: string, process: SimulatedProcess, lock: Handle['lock']): Handle {
    this.acquisitions++
    const handle: Handle = { name, owner, process, lock, isUsed: false, isOver: false }
    const handles = this.#handles.get(name) ?? new Set<Handle>()
    this.#handles.set(name, handles)
    if (lock.remaining() > 0) this.#refuseOthers(name, owner, process, 'acquired')
    handles.add(handle)
    this.#compareView(name)
    return handle
  }

  /** Records the lock object of a holder, and observes its extensions. */
  held(handle: Handle, lock: ActiveLock): void {
    if (handle.lock === lock) return
    handle.lock = lock
    // The holder's view of its lease changes when the answer arrives, not when the row changes.
    const extend = lock.extend.bind(lock)
    lock.extend = async (...durations) => {
      await extend(...durations)
      this.#compareView(handle.name)
    }
  }

  /**
   * Records that the task of an acquisition has begun.
   *
   * @param until whether the slot may be acquired again until it has succeeded
   */
  started(handle: Handle, slot?: number, until = false): void {
    const { name, owner, process } = handle
    handle.isUsed = true
    const grant = this.#grants.get(owner)
    if (!grant) {
      this.world.fail('no lock, no run', `${process.name} runs ${name}, which the database never granted`)
      return
    }
    // The same lock was requested again inside its own task.
    if (grant.started) return
    grant.started = true
    const last = this.#lastToken.get(name) ?? 0
    if (grant.lockedAt <= last)
      this.world.fail('tokens grow', `${name} has token ${grant.lockedAt} after ${last}`)
    this.#lastToken.set(name, grant.lockedAt)
    if (slot === undefined) return
    const lastSlot = this.#lastSlot.get(name) ?? 0
    if (until ? slot < lastSlot : slot <= lastSlot)
      this.world.fail('a slot runs once', `${name} runs for slot ${slot} after ${lastSlot}`)
    if (this.#succeeded.get(name) === slot)
      this.world.fail('a success is final', `${name} runs for slot ${slot}, which succeeded`)
    this.#lastSlot.set(name, slot)
  }

  /** Records that the task of an acquisition has ended. */
  ended({ owner }: Handle, outcome: LastRun['outcome'], took: number): void {
    const grant = this.#grants.get(owner)
    if (grant) Object.assign(grant, { outcome, took })
  }

  token({ name, owner }: Handle, token: number): void {
    const lockedAt = this.#grants.get(owner)?.lockedAt
    if (token !== lockedAt)
      this.world.fail('tokens', `${name} returned token ${token}, but was locked at ${lockedAt}`)
  }

  /** Records an attempt to acquire the lock. @returns a function to be called with the reason if the attempt did not succeed */
  attempts(name: string): (reason: string) => void {
    const started = this.world.now
    const wasHeld = this.#isHeld(name)
    const { clocksSetBack } = this.database
    return (reason) => {
      // A free lock is held again if the clock was set back.
      if (this.database.clocksSetBack !== clocksSetBack) return
      const changed = (this.#lastChange.get(name) ?? -1) >= started
      if (!wasHeld && !changed && !this.#isHeld(name))
        this.world.fail(
          'a free lock is not refused',
          `${name} was free all the time, but was not acquired: ${reason}`,
        )
    }
  }

  /**
   * Checks a refusal of a slot that was already acquired: its task must have run, or still be able to.
   *
   * @param started when the attempt began, in simulated milliseconds, because the row may have changed since it was read
   */
  refusedSlot(name: string, slot: number, started: number, until: boolean): void {
    const ahead = (this.database.table.row(name)?.locked_at ?? 0) - this.database.now()
    if (ahead > SLOT_AT_MOST_AHEAD + 1 + this.database.setBackBy)
      this.world.fail('a wrong clock blocks no other process', `${name} has a slot that is ${ahead} ms ahead`)
    const changed = (this.#lastChange.get(name) ?? -1) >= started
    const row = this.database.table.row(name)
    if (until && row && !changed && tokenOfRetry(slot, row.locked_at) !== undefined) {
      if (!row.locked_by.endsWith(' succeeded'))
        this.world.fail(
          'a slot is retried until it has succeeded',
          `${name} refuses slot ${slot} although its row has ${row.locked_by}`,
        )
      return
    }
    if (slot <= (this.#lastToken.get(name) ?? 0)) return
    // Earlier slots cannot be checked, because the row remembers only the latest one.
    const grant = this.#lastGrant.get(name)
    if (grant?.lockedAt !== slot || grant.started || grant.process.leavesLocks || changed) return
    const isLongOver = this.database.now() > grant.until + LONGEST_CLEAN_UP
    if (grant.released || isLongOver)
      this.world.fail(
        'unused slots are released',
        `${name} refuses slot ${slot}, although no task ran for it`,
      )
  }

  onChange({ before, after }: Change, { process, values }: Request, now: number): void {
    const name = values.name ?? ''
    const owner = values.lockedBy ?? ''
    this.#lastChange.set(name, this.world.now)
    this.world.trace('database', `${describe(before, now)} → ${describe(after, now)}  (${process.name})`)
    if (!after) return
    const isTake = after.locked_by === owner && before?.locked_by !== owner
    if (before && before.lock_until > now && before.locked_by !== owner)
      this.world.fail(
        'only the owner changes a held row',
        `${process.name} changed ${name}, which ${short(before.locked_by)} holds`,
      )
    // A run without a slot may count as the last run of the slot just before it, because the row only contains times.
    if (isTake && values.slot === undefined) this.#succeeded.delete(name)
    if (isTake) this.#taken(after, process, now)
    else if (before?.locked_by === owner && before.lock_until <= now && after.lock_until > now)
      this.world.fail('an expired lease is not extended', `${process.name} revived ${name}`)
    const grant = this.#grants.get(owner)
    if (grant && after.locked_by !== owner) {
      grant.released = true
      this.#compareOutcome(grant, after, now)
    } else if (grant) grant.until = after.lock_until
    this.#compareView(name)
  }

  /** Checks that the row records what happened. */
  #compareOutcome(grant: Grant, { name, locked_by: owner, lock_until: until }: LockRow, now: number): void {
    const { outcome, took, since } = grant
    const held = until > now
    const lastRun = lastRunOf(owner, held, new Date(until), new Date(now))
    if (owner.startsWith('paused by ') ? lastRun : lastRun?.outcome !== outcome)
      this.world.fail(
        'outcomes',
        `${name} records ${lastRun?.outcome ?? 'no outcome'} instead of ${outcome}: ${owner}`,
      )
    const { duration } = lastRun ?? {}
    const longest = (this.world.now - since) * (1 + this.drift) + 1
    if (duration !== undefined && (duration > longest || duration < took * (1 - this.drift) - 1))
      this.world.fail('outcomes', `${name} records ${duration} ms for a run of ${took} to ${longest} ms`)
    const slot = this.#lastSlot.get(name)
    if (outcome === 'succeeded' && slot !== undefined) this.#succeeded.set(name, slot)
  }

  /** Checks that the release of an unused lock changes its row even if its lease is over, so that its slot can be acquired again. */
  onNothing({ process, statement, values: { name = '', lockedBy, unlockedBy } }: Request): void {
    if (unlockedBy === undefined || this.database.table.row(name)?.locked_by !== lockedBy) return
    if (statement.pieces.some((piece) => piece.includes('"locked_at" = ')))
      this.world.fail(
        'unused slots are released',
        `${process.name} released ${name} unused, but nothing changed`,
      )
  }

  onCommit({ guarded, process }: Transaction): void {
    for (const [name, owner] of guarded)
      if (this.database.table.row(name)?.locked_by !== owner)
        this.world.fail('the guard', `${process.name} committed under ${name}, which it no longer held`)
  }

  onUnlockUndone(name: string): void {
    const owner = this.database.table.row(name)?.locked_by
    if (owner === undefined) return
    if (this.#lastSlot.has(name))
      this.world.fail(
        'a recorded outcome stays recorded',
        `${name} lost the outcome of its slot's run in a crash`,
      )
    this.#undone.add(owner)
    const grant = this.#grants.get(owner)
    if (grant) grant.released = false
    this.#lastChange.set(name, this.world.now)
  }

  /** Returns the rows that are still held, for no good reason, after all processes have ended or were killed. */
  heldByNobody(): LockRow[] {
    const now = this.database.now()
    return [...this.database.table.rows()].filter((row) => {
      if (row.lock_until <= now || this.#undone.has(row.locked_by)) return false
      const grant = this.#grants.get(row.locked_by)
      // If a request arrives after its process began to shut down, nothing may be left to release the row.
      if (grant && (grant.process.leavesLocks || grant.since > grant.process.stoppingSince)) return false
      const last = this.#lastGrant.get(row.name)
      // The holder computes what is left of lockAtLeastFor, and counts from the answer to its acquisition, so allow for late
      // messages.
      const keeps = ENDED.test(row.locked_by) && last ? last.acquiredAt + last.atLeast + 40_000 : 0
      return row.lock_until > keeps
    })
  }

  /** Returns whether the lock is held legitimately, or was left held by a process that died. */
  isLeftHeld(name: string): boolean {
    if (!this.#isHeld(name)) return false
    for (const handle of this.#alive(name)) if (this.#trusted(handle) > 0) return true
    const row = this.database.table.row(name)
    return (
      row !== undefined &&
      (this.#undone.has(row.locked_by) || this.#grants.get(row.locked_by)?.process.leavesLocks === true)
    )
  }

  /** Forgets tokens and slots of a lock whose row was deleted. */
  forget(name: string): void {
    this.#lastToken.delete(name)
    this.#lastSlot.delete(name)
    this.#lastGrant.delete(name)
    this.#lastChange.set(name, this.world.now)
  }

  #taken(
    { name, locked_by: owner, locked_at: lockedAt, lock_until: until }: LockRow,
    process: SimulatedProcess,
    now: number,
  ): void {
    this.#refuseOthers(name, owner, process, 'acquired in the database')
    if (this.#grants.get(owner)?.released === true)
      this.world.fail('an unlock is final', `${short(owner)} got ${name} back after releasing it`)
    const last = this.#lastGrant.get(name)
    const early = last ? last.since + last.atLeast * (1 - this.drift) - this.world.now : 0
    // Clocks are truncated to milliseconds twice.
    if (last?.started && last.atLeast > 0 && early > 2 && now < last.until)
      this.world.fail('lockAtLeastFor', `${name} was acquired too early, at ${now % 1e8}`)
    const isPause = owner.startsWith('paused by ')
    const atLeast = isPause ? 0 : (this.#durations.get(name)?.lockAtLeastFor ?? 0)
    const grant: Grant = {
      ...{ name, process, lockedAt, acquiredAt: now, since: this.world.now, atLeast, until },
      ...{ started: false, outcome: 'unlocked', took: 0, released: false },
    }
    this.#grants.set(owner, grant)
    this.#lastGrant.set(name, grant)
    if (!isPause) this.lastTaken.set(name, this.world.now)
  }

  #isHeld(name: string): boolean {
    return (this.database.table.row(name)?.lock_until ?? 0) > this.database.now()
  }

  /** Checks that no other holder considers the lock held. */
  #refuseOthers(name: string, owner: string, process: SimulatedProcess, what: string): void {
    for (const other of this.#alive(name)) {
      if (other.owner === owner) continue
      const trusted = this.#trusted(other)
      if (trusted > this.#tolerance(other))
        this.world.fail(
          'exclusion',
          `${process.name} ${what} ${name} while ${other.process.name} considered it held for another ${trusted.toFixed(3)} ms`,
        )
    }
  }

  /** Checks that no holder considers its lock held for longer than the database does. */
  #compareView(name: string): void {
    const row = this.database.table.row(name)
    for (const handle of this.#alive(name)) {
      const trusted = this.#trusted(handle)
      const left = row?.locked_by === handle.owner ? row.lock_until - this.database.now() : 0
      if (trusted > Math.max(0, left) + this.#tolerance(handle))
        this.world.fail(
          "the holder's view of its lease",
          `${handle.process.name} considers ${name} held for ${trusted.toFixed(3)} ms, the database for ${left.toFixed(3)} ms`,
        )
    }
  }

  *#alive(name: string): Generator<Handle> {
    const handles = this.#handles.get(name)
    for (const handle of handles ?? [])
      if (handle.process.isDead || handle.isOver || this.#trusted(handle) === 0) handles?.delete(handle)
      else yield handle
  }

  #trusted({ process, lock }: Handle): number {
    return this.world.as(process, () => lock.remaining())
  }

  /** Returns by how much two clocks may differ at the end of a lease that was extended once. */
  #tolerance({ name }: Handle): number {
    return ROUNDING + this.drift * 2 * (this.#durations.get(name)?.lockAtMostFor ?? 0)
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
