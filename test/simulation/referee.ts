import type { HeldLock } from '../../src/core/held-lock'
import type { Change, LockRow } from './model/table'
import type { Database, DatabaseObserver, Request, Transaction } from './database'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** A lock as its holder sees it. */
export interface Handle {
  readonly name: string
  readonly owner: string
  readonly process: SimulatedProcess
  readonly held: HeldLock
  /** Nobody promises anything about it: its lock was released by an operator. */
  isOver: boolean
}

/** What the database gave to one owner. */
interface Grant {
  readonly name: string
  readonly process: SimulatedProcess
  readonly lockedAt: number
  readonly atLeast: number
  started: boolean
  /** How long its row was held at most. */
  until: number
  /** Its unlock has reached the database. */
  released: boolean
}

/** In milliseconds. */
export interface Durations {
  readonly lockAtMostFor: number
  readonly lockAtLeastFor: number
}

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
  acquired(name: string, owner: string, process: SimulatedProcess, held: HeldLock): Handle {
    this.acquisitions++
    const handle: Handle = { name, owner, process, held, isOver: false }
    const handles = this.#handles.get(name) ?? new Set<Handle>()
    this.#handles.set(name, handles)
    this.#refuseOthers(name, owner, process, 'was given it')
    handles.add(handle)
    this.#compareView(name)
    held.observe({
      onExtended: () => {
        this.#compareView(name)
      },
      onLost: () => handles.delete(handle),
      onEnded: () => handles.delete(handle),
    })
    return handle
  }

  /** The task of an acquisition begins. */
  started({ name, owner, process }: Handle, slot?: number): void {
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
    if (slot <= lastSlot) this.world.fail('slots once', `${name} runs for slot ${slot} after ${lastSlot}`)
    this.#lastSlot.set(name, slot)
  }

  token({ name, owner }: Handle, token: number): void {
    const lockedAt = this.#grants.get(owner)?.lockedAt
    if (token !== lockedAt) this.world.fail('tokens', `${name} tells ${token}, and was locked at ${lockedAt}`)
  }

  /** @returns to be called when the attempt was refused */
  asks(name: string): () => void {
    const started = this.world.now
    const wasHeld = this.#isHeld(name)
    const { clocksSetBack } = this.database
    return () => {
      this.refusals++
      // What was free is held again for as long.
      if (this.database.clocksSetBack !== clocksSetBack) return
      const changed = (this.#lastChange.get(name) ?? -1) >= started
      if (!wasHeld && !changed && !this.#isHeld(name))
        this.world.fail('a free lock is given', `${name} was free all the time, and was refused`)
    }
  }

  /** A slot was refused because it was given: then somebody ran for it, or may yet. */
  refusedSlot(name: string, slot: number): void {
    this.refusals++
    if (slot <= (this.#lastToken.get(name) ?? 0) || name.endsWith('/done')) return
    // Those before it are gone: the row remembers the latest alone.
    const grant = this.#lastGrant.get(name)
    if (grant?.lockedAt === slot && grant.released && !grant.started && !grant.process.isDead)
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
    if (isTake) this.#taken(after, process, now)
    else if (before?.locked_by === owner && before.lock_until <= now && after.lock_until > now)
      this.world.fail('a lease that is over', `${process.name} revived ${name}`)
    const grant = this.#grants.get(owner)
    if (grant && after.locked_by !== owner) grant.released = true
    else if (grant) grant.until = after.lock_until
    this.#compareView(name)
  }

  onCommit({ guarded, process }: Transaction): void {
    for (const [name, owner] of guarded)
      if (this.database.table.row(name)?.locked_by !== owner)
        this.world.fail('the guard', `${process.name} committed under ${name}, which somebody else has`)
  }

  onUnlockUndone(name: string): void {
    const owner = this.database.table.row(name)?.locked_by
    if (owner === undefined) return
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
      if (grant?.process.isDead) return false
      const last = this.#lastGrant.get(row.name)
      const keeps = row.locked_by.endsWith('/unlocked') && last ? last.lockedAt + last.atLeast : 0
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
      (this.#undone.has(row.locked_by) || this.#grants.get(row.locked_by)?.process.isDead === true)
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
    if (last?.started && last.atLeast > 0 && now < Math.min(last.lockedAt + last.atLeast, last.until))
      this.world.fail('lockAtLeastFor', `${name} was taken too early, at ${now % 1e8}`)
    const isPause = owner.startsWith('paused by ')
    const atLeast = isPause ? 0 : (this.#durations.get(name)?.lockAtLeastFor ?? 0)
    const grant: Grant = { name, process, lockedAt, atLeast, until, started: false, released: false }
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
    for (const handle of this.#handles.get(name) ?? [])
      if (!handle.process.isDead && !handle.isOver) yield handle
  }

  #trusted({ process, held }: Handle): number {
    return this.world.as(process, () => held.remaining())
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
