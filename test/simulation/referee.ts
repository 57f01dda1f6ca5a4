import { SLOT_AT_MOST_AHEAD, tokenOfRetry, type ActiveLock } from '../../src/core/internal'
import { lastRunOf, type LastRun } from '../../src/sql/owner'
import type { Change, LockRow } from './model/table'
import { ENDED, type Database, type DatabaseObserver, type Request, type Transaction } from './database'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** A lock as its holder sees it. */
export interface Handle {
  readonly name: string
  readonly owner: string
  readonly process: SimulatedProcess
  /** Until its holder has it: the lease of its acquisition. */
  lock: Pick<ActiveLock, 'remaining'>
  /** Somebody works under it. */
  isUsed: boolean
  /** Its holder has begun to release it. */
  isOver: boolean
}

/** What the database gave to one owner. */
interface Grant {
  readonly name: string
  readonly process: SimulatedProcess
  readonly lockedAt: number
  /** By the database's clock. */
  readonly acquiredAt: number
  /** The same in simulated milliseconds. */
  readonly since: number
  readonly atLeast: number
  started: boolean
  /** How its run ended, and how long it took in simulated milliseconds. */
  outcome: LastRun['outcome']
  took: number
  /** How long its row was held at most. */
  until: number
  /** Its release has reached the database. */
  released: boolean
}

/** In milliseconds. */
export interface Durations {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
}

/** After a lease, in milliseconds: until then a slot that nobody ran for has been released. */
const LONGEST_CLEAN_UP = 120_000

/** A clock is cut to milliseconds twice on the way, and numbers have ends. */
const ROUNDING = 1e-3

/** Sees all that happens, and says which property does not hold. */
export class Referee implements DatabaseObserver {
  acquisitions = 0
  refusals = 0
  errors = 0
  /** When the lock was last given, in simulated milliseconds. */
  readonly lastTaken = new Map<string, number>()
  readonly #lastChange = new Map<string, number>()
  readonly #handles = new Map<string, Set<Handle>>()
  readonly #grants = new Map<string, Grant>()
  readonly #lastGrant = new Map<string, Grant>()
  readonly #lastToken = new Map<string, number>()
  readonly #lastSlot = new Map<string, number>()
  /** The slot whose success stands in the row. */
  readonly #succeeded = new Map<string, number>()
  readonly #durations = new Map<string, Durations>()
  readonly #undone = new Set<string>()

  constructor(
    private readonly world: World,
    private readonly database: Database,
    /** How much faster than the database's clock a process's may be, in all: 2e-4 for 200 millionths. */
    private readonly drift: number,
  ) {}

  /** All who ask for this lock ask for this. */
  expect(name: string, durations: Durations): void {
    this.#durations.set(name, durations)
  }

  /** Somebody has the lock from now on. */
  acquired(name: string, owner: string, process: SimulatedProcess, lock: Handle['lock']): Handle {
    this.acquisitions++
    const handle: Handle = { name, owner, process, lock, isUsed: false, isOver: false }
    const handles = this.#handles.get(name) ?? new Set<Handle>()
    this.#handles.set(name, handles)
    if (lock.remaining() > 0) this.#refuseOthers(name, owner, process, 'was given it')
    handles.add(handle)
    this.#compareView(name)
    return handle
  }

  /** Its holder has this lock from now on. */
  held(handle: Handle, lock: ActiveLock): void {
    if (handle.lock === lock) return
    handle.lock = lock
    // The holder's view changes with the answer, not with the row.
    const extend = lock.extend.bind(lock)
    lock.extend = async (...durations) => {
      await extend(...durations)
      this.#compareView(handle.name)
      return lock
    }
  }

  /**
   * The task of an acquisition begins.
   *
   * @param until whether the slot may be acquired until it succeeded
   */
  started(handle: Handle, slot?: number, until = false): void {
    const { name, owner, process } = handle
    handle.isUsed = true
    const grant = this.#grants.get(owner)
    if (!grant) {
      this.world.fail('no lock, no run', `${process.name} runs ${name}, and the database never gave it`)
      return
    }
    // The same lock again, inside of its own task.
    if (grant.started) return
    grant.started = true
    const last = this.#lastToken.get(name) ?? 0
    if (grant.lockedAt <= last)
      this.world.fail('tokens grow', `${name} has token ${grant.lockedAt} after ${last}`)
    this.#lastToken.set(name, grant.lockedAt)
    if (slot === undefined) return
    const lastSlot = this.#lastSlot.get(name) ?? 0
    if (until ? slot < lastSlot : slot <= lastSlot)
      this.world.fail('slots once', `${name} runs for slot ${slot} after ${lastSlot}`)
    if (this.#succeeded.get(name) === slot)
      this.world.fail('a success is final', `${name} runs for slot ${slot}, which succeeded`)
    this.#lastSlot.set(name, slot)
  }

  /** The task of an acquisition has ended. */
  ended({ owner }: Handle, outcome: LastRun['outcome'], took: number): void {
    const grant = this.#grants.get(owner)
    if (grant) Object.assign(grant, { outcome, took })
  }

  token({ name, owner }: Handle, token: number): void {
    const lockedAt = this.#grants.get(owner)?.lockedAt
    if (token !== lockedAt) this.world.fail('tokens', `${name} tells ${token}, and was locked at ${lockedAt}`)
  }

  /** @returns to be called when the attempt did not acquire the lock, and how that was told */
  attempts(name: string): (told: string) => void {
    const started = this.world.now
    const wasHeld = this.#isHeld(name)
    const { clocksSetBack } = this.database
    return (told) => {
      // What was free is held again for as long.
      if (this.database.clocksSetBack !== clocksSetBack) return
      const changed = (this.#lastChange.get(name) ?? -1) >= started
      if (!wasHeld && !changed && !this.#isHeld(name))
        this.world.fail('a free lock is given', `${name} was free all the time, and was told as ${told}`)
    }
  }

  /**
   * A slot was refused because it was acquired: then somebody ran for it, or may yet.
   *
   * @param started when it was tried, in simulated milliseconds: the row may have changed since it was seen
   */
  refusedSlot(name: string, slot: number, started: number, until: boolean): void {
    const ahead = (this.database.table.row(name)?.locked_at ?? 0) - this.database.now()
    if (ahead > SLOT_AT_MOST_AHEAD + 1 + this.database.setBackBy)
      this.world.fail('a wrong clock silences no other', `${name} has a slot that lies ${ahead} ms ahead`)
    const changed = (this.#lastChange.get(name) ?? -1) >= started
    const row = this.database.table.row(name)
    if (until && row && !changed && tokenOfRetry(slot, row.locked_at) !== undefined) {
      if (!row.locked_by.endsWith(' succeeded'))
        this.world.fail('until it succeeded', `${name} refuses slot ${slot}, though ${row.locked_by}`)
      return
    }
    if (slot <= (this.#lastToken.get(name) ?? 0)) return
    // Those before it are gone: the row remembers the latest alone.
    const grant = this.#lastGrant.get(name)
    if (grant?.lockedAt !== slot || grant.started || grant.process.leavesLocks || changed) return
    const isLongOver = this.database.now() > grant.until + LONGEST_CLEAN_UP
    if (grant.released || isLongOver)
      this.world.fail('slots are given back', `${name} refuses slot ${slot}, which nobody ran for`)
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
        'only the owner',
        `${process.name} changed ${name}, which ${short(before.locked_by)} holds`,
      )
    // A run without a slot can count as the last run of the slot that lies just before it: the row knows only times.
    if (isTake && values.slot === undefined) this.#succeeded.delete(name)
    if (isTake) this.#taken(after, process, now)
    else if (before?.locked_by === owner && before.lock_until <= now && after.lock_until > now)
      this.world.fail('a lease that is over', `${process.name} revived ${name}`)
    const grant = this.#grants.get(owner)
    if (grant && after.locked_by !== owner) {
      grant.released = true
      this.#compareOutcome(grant, after, now)
    } else if (grant) grant.until = after.lock_until
    this.#compareView(name)
  }

  /** What the row tells has happened. */
  #compareOutcome(grant: Grant, { name, locked_by: owner, lock_until: until }: LockRow, now: number): void {
    const { outcome, took, since } = grant
    const held = until > now
    const told = lastRunOf(owner, held, new Date(until), new Date(now))
    if (owner.startsWith('paused by ') ? told : told?.outcome !== outcome)
      this.world.fail('outcomes', `${name} tells ${told?.outcome ?? 'nothing'} of what ${outcome}: ${owner}`)
    const { duration } = told ?? {}
    const longest = (this.world.now - since) * (1 + this.drift) + 1
    if (duration !== undefined && (duration > longest || duration < took * (1 - this.drift) - 1))
      this.world.fail('outcomes', `${name} tells ${duration} ms of a run of ${took} to ${longest}`)
    const slot = this.#lastSlot.get(name)
    if (outcome === 'succeeded' && slot !== undefined) this.#succeeded.set(name, slot)
  }

  /** What nobody used is released though its lease is over: its slot can be acquired again. */
  onNothing({ process, statement, values: { name = '', lockedBy, unlockedBy } }: Request): void {
    if (unlockedBy === undefined || this.database.table.row(name)?.locked_by !== lockedBy) return
    if (statement.pieces.some((piece) => piece.includes('"locked_at" = ')))
      this.world.fail('slots are given back', `${process.name} released ${name} unused, and nothing changed`)
  }

  onCommit({ guarded, process }: Transaction): void {
    for (const [name, owner] of guarded)
      if (this.database.table.row(name)?.locked_by !== owner)
        this.world.fail('the guard', `${process.name} committed under ${name}, which somebody else has`)
  }

  onUnlockUndone(name: string): void {
    const owner = this.database.table.row(name)?.locked_by
    if (owner === undefined) return
    if (this.#lastSlot.has(name))
      this.world.fail(
        'a recorded end stays recorded',
        `${name} lost in a crash how the run of its slot ended`,
      )
    this.#undone.add(owner)
    const grant = this.#grants.get(owner)
    if (grant) grant.released = false
    this.#lastChange.set(name, this.world.now)
  }

  /** Rows that are held after every process has come to its end, or was killed. */
  heldByNobody(): LockRow[] {
    const now = this.database.now()
    return [...this.database.table.rows()].filter((row) => {
      if (row.lock_until <= now || this.#undone.has(row.locked_by)) return false
      const grant = this.#grants.get(row.locked_by)
      // A request that arrives after its process began to end may find nobody who could release the row.
      if (grant && (grant.process.leavesLocks || grant.since > grant.process.stoppingSince)) return false
      const last = this.#lastGrant.get(row.name)
      // Counted by the holder, from the answer to its acquisition to the request of its release.
      const keeps = ENDED.test(row.locked_by) && last ? last.acquiredAt + last.atLeast + 40_000 : 0
      return row.lock_until > keeps
    })
  }

  /** Whether somebody holds it who still may, or a process that died does. */
  isLeftHeld(name: string): boolean {
    if (!this.#isHeld(name)) return false
    for (const handle of this.#alive(name)) if (this.#trusted(handle) > 0) return true
    const row = this.database.table.row(name)
    return (
      row !== undefined &&
      (this.#undone.has(row.locked_by) || this.#grants.get(row.locked_by)?.process.leavesLocks === true)
    )
  }

  /** Whoever deletes a row takes the memory of the lock with it. */
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
    this.#refuseOthers(name, owner, process, 'took it in the database')
    if (this.#grants.get(owner)?.released === true)
      this.world.fail('an unlock is final', `${short(owner)} got ${name} back after its unlock`)
    const last = this.#lastGrant.get(name)
    const early = last ? last.since + last.atLeast * (1 - this.drift) - this.world.now : 0
    // Clocks are cut to milliseconds twice.
    if (last?.started && last.atLeast > 0 && early > 2 && now < last.until)
      this.world.fail('lockAtLeastFor', `${name} was taken too early, at ${now % 1e8}`)
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

  /** No other holder may trust the lock now. */
  #refuseOthers(name: string, owner: string, process: SimulatedProcess, what: string): void {
    for (const other of this.#alive(name)) {
      if (other.owner === owner) continue
      const trusted = this.#trusted(other)
      if (trusted > this.#tolerance(other))
        this.world.fail(
          'exclusion',
          `${process.name} ${what}, ${name}, while ${other.process.name} trusts it for ${trusted.toFixed(3)} ms`,
        )
    }
  }

  /** No holder may trust its lock longer than the database does. */
  #compareView(name: string): void {
    const row = this.database.table.row(name)
    for (const handle of this.#alive(name)) {
      const trusted = this.#trusted(handle)
      const left = row?.locked_by === handle.owner ? row.lock_until - this.database.now() : 0
      if (trusted > Math.max(0, left) + this.#tolerance(handle))
        this.world.fail(
          'the view of the holder',
          `${handle.process.name} trusts ${name} for ${trusted.toFixed(3)} ms, the database for ${left.toFixed(3)} ms`,
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

  /** By how much two clocks may differ at the end of a lease that was extended once. */
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
