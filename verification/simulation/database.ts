import type { Dialect } from '../../src/sql/dialect'
import { DriverError } from '../../src/sql/session'
import type { LockValues, Sql } from '../../src/sql/sql'
import type { Random } from '../workers/random'
import { DESCRIBE, isNotSynced, type Behaviour } from './model/model-dialect'
import { Table, type Change, type Effect, type LockRow } from './model/table'
import type { SimulatedProcess } from './simulated-process'
import type { World } from './world'

/** One statement in transit. */
export interface Request {
  readonly process: SimulatedProcess
  readonly statement: Sql
  readonly values: LockValues
  readonly transaction?: Transaction | undefined
  /** Sends the answer, or an error, back. */
  readonly respond: (answer: Effect | DriverError) => void
}

/** A transaction of the application, with the rows that it has pinned. */
export interface Transaction {
  readonly process: SimulatedProcess
  readonly pinned: Set<string>
  /** The locks under which it commits: their owners by name. */
  readonly guarded: Map<string, string>
  isOver: boolean
}

/** What is told of everything that happens in the database. */
export interface Observer {
  onChange(change: Change, request: Request, now: number): void
  /** A statement changed no row. */
  onNothing(request: Request): void
  onCommit(transaction: Transaction): void
  onDestroyed(name: string): void
  /** A crash has undone a release. */
  onUnlockUndone(name: string): void
  /** The clock was set back, or continues after it had stopped. */
  onClock(): void
}

/** The share of statements that take a moment between reading and writing. */
const SLOW = 0.1

const COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'].map((column) => ({
  column_name: column,
  column_type: 'any',
}))

/**
 * The database server. It runs each statement at one moment, keeps what it has acknowledged, and has its own clock. It implements
 * transactions, but knows nothing about locks.
 */
export class Database {
  readonly table = new Table()
  observer: Observer | undefined
  /** Whether it rejects writes, as a standby does, or, if the dialect cannot detect a standby, as a server with a full disk does. */
  isReadOnly = false
  /** The probability that a statement loses a race, or finds the server too busy. */
  conflicts = 0
  busy = 0
  #isDown = false
  #isStalled = false
  #clockOffset = 0
  #clockStoppedAt: number | undefined
  #waiting: { request: Request; since: number }[] = []
  readonly #answering = new Set<Request>()
  readonly #transactions = new Set<Transaction>()
  /** The releases that a crash may undo. */
  #unsynced: { change: Change; undo: () => void }[] = []

  constructor(
    private readonly world: World,
    private readonly dialect: Dialect & Behaviour,
    private readonly random: Random,
    private readonly rate: number,
  ) {}

  /** Returns the time of the database's clock, in milliseconds since 1970 with fractions. */
  now(): number {
    if (this.#clockStoppedAt !== undefined) return this.#clockStoppedAt
    return this.world.epoch + 1234.5 + this.world.now * this.rate + this.#clockOffset
  }

  /** How many times the clock was set back, stopped or continued, and how late it is by that. */
  clockChanges = 0
  lateBy = 0

  get isClockStopped(): boolean {
    return this.#clockStoppedAt !== undefined
  }

  /** How far the database's clock is behind, in milliseconds. */
  get behind(): number {
    return -this.#clockOffset
  }

  setClockBack(by: number): void {
    this.world.trace('database', `its clock is set back by ${by} ms`)
    this.lateBy += by
    this.#clockOffset -= by
    this.#onClock()
  }

  stopClock(length: number): void {
    this.world.trace('database', `its clock stops for ${length} ms`)
    this.#clockStoppedAt ??= this.now()
    this.lateBy += length
    this.clockChanges++
    this.world.at(length, undefined, 'other', () => {
      if (this.#clockStoppedAt === undefined) return
      const stoppedAt = this.#clockStoppedAt
      this.#clockStoppedAt = undefined
      this.#clockOffset -= this.now() - stoppedAt
      this.#onClock()
    })
  }

  #onClock(): void {
    this.clockChanges++
    this.observer?.onClock()
  }

  stall(length: number): void {
    this.world.trace('database', `runs nothing for ${length} ms`)
    this.#isStalled = true
    this.world.at(length, undefined, 'other', () => {
      this.#isStalled = false
      this.world.trace('database', 'continues')
      this.#runWaiting()
    })
  }

  /** Crashes and comes back. What was committed is kept; waiting statements and answers in transit are lost. */
  restart(length: number): void {
    this.world.trace('database', `crashes; it is back in ${length} ms`)
    this.#isDown = true
    const cut = this.#waiting
    this.#waiting = []
    this.#answering.clear()
    for (const transaction of this.#transactions) transaction.isOver = true
    this.#transactions.clear()
    const lost = this.#unsynced.splice(Math.floor(this.random.next() * (this.#unsynced.length + 1)))
    for (const { undo } of lost.reverse()) undo()
    this.#unsynced = []
    for (const { request } of cut) request.respond(new DriverError(undefined, 'the server went away'))
    this.world.at(length, undefined, 'other', () => {
      this.#isDown = false
      this.world.trace('database', 'is back')
    })
  }

  begin(process: SimulatedProcess): Transaction {
    const [pinned, guarded] = [new Set<string>(), new Map<string, string>()]
    const transaction = { process, pinned, guarded, isOver: false }
    this.#transactions.add(transaction)
    return transaction
  }

  end(transaction: Transaction, how: 'commit' | 'rollback'): boolean {
    if (transaction.isOver) return false
    transaction.isOver = true
    this.#transactions.delete(transaction)
    if (how === 'commit') this.observer?.onCommit(transaction)
    this.#runWaiting()
    return true
  }

  /** Rolls back the transactions of a dead process, after the time that the server takes to notice its death. */
  forgetTransactions(process: SimulatedProcess, pause: number): void {
    for (const transaction of this.#transactions) {
      if (transaction.process !== process) continue
      this.world.at(pause, undefined, 'other', () => this.end(transaction, 'rollback'))
    }
  }

  deleteRow(name: string): void {
    this.table.delete(name)
    this.#unsynced = []
    this.observer?.onDestroyed(name)
  }

  /** Receives a statement from the network. */
  arrive(request: Request): void {
    if (this.#isDown) request.respond(new DriverError(undefined, 'connection refused', false))
    else this.#run(request, this.now())
  }

  /** Marks a request as answered. Returns false if the server has crashed since it executed the statement. */
  answered(request: Request): boolean {
    return this.#answering.delete(request)
  }

  #runWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    // Waiting statements run in any order.
    for (let index = waiting.length - 1; index > 0; index--) {
      const other = Math.floor(this.random.next() * (index + 1))
      const [one, two] = [waiting[index], waiting[other]]
      if (one && two) [waiting[index], waiting[other]] = [two, one]
    }
    for (const { request, since } of waiting) this.#run(request, since)
  }

  #run(request: Request, since: number): void {
    if (request.transaction?.isOver) {
      request.respond(new DriverError('25P02', 'the transaction is over'))
      return
    }
    if (this.#isStalled) {
      this.#waiting.push({ request, since })
      return
    }
    if (this.random.chance(this.conflicts)) {
      this.#answer(
        request,
        new DriverError(Object.keys(this.dialect.transientErrors)[1], 'another session was faster'),
      )
      return
    }
    const busy = Object.keys(this.dialect.transientErrors).at(-1)
    if (busy !== undefined && this.random.chance(this.busy)) {
      this.#answer(request, new DriverError(busy, 'busy'))
      return
    }
    // A row may change between a statement's reading and its writing. A read that locks its row sees the current row.
    if (this.random.chance(SLOW)) {
      const seen = request.transaction ? undefined : this.table.rows()
      this.world.at(this.random.next() * 3, undefined, 'other', () => this.#decide(request, since, seen))
    } else this.#decide(request, since)
  }

  #decide(request: Request, since: number, seen?: readonly LockRow[]): void {
    if (this.#isDown) {
      request.respond(new DriverError(undefined, 'the server went away'))
      return
    }
    const now = Math.floor(this.dialect.clockOfStatement ? since : this.now())
    const effect = this.#effect(request, now, seen)
    if (!effect) this.#waiting.push({ request, since })
    else this.#answer(request, effect)
  }

  /** Executes a statement. @returns its effect; `undefined` if it must wait for a transaction */
  #effect(request: Request, now: number, seen?: readonly LockRow[]): Effect | DriverError | undefined {
    const { statement, values, transaction } = request
    if (statement === DESCRIBE) return { rows: COLUMNS, changes: [] }
    let effect: Effect
    try {
      effect = this.table.run(statement, values, { now, isReadOnly: this.isReadOnly, seen })
    } catch (error) {
      if (!String((error as { code?: unknown }).code).startsWith('SQLITE_CONSTRAINT')) throw error
      const [code] = Object.keys(this.dialect.transientErrors)
      return new DriverError(code, 'duplicate key')
    }
    const { changes } = effect
    if (changes.length > 0 && this.isReadOnly) {
      this.table.undo(changes)
      return new DriverError(Object.keys(this.dialect.readOnlyErrors)[0] ?? 'disk full', 'read only')
    }
    if (changes.some(({ before }) => before && this.isPinned(before.name, transaction))) {
      this.table.undo(changes)
      return undefined
    }
    if (transaction) this.#pin(transaction, effect, values)
    if (changes.length === 0) this.observer?.onNothing(request)
    for (const change of changes) {
      this.#sync(statement, change)
      this.observer?.onChange(change, request, now)
    }
    return effect
  }

  /** @param own a transaction whose own pins do not count */
  isPinned(name: string, own?: Transaction): boolean {
    for (const transaction of this.#transactions)
      if (transaction !== own && transaction.pinned.has(name)) return true
    return false
  }

  #pin(transaction: Transaction, { rows, changes }: Effect, { name = '' }: LockValues): void {
    if (rows.length + changes.length > 0) transaction.pinned.add(name)
  }

  /** Records a release that a crash may undo. Any other commit waits for the disk, and so makes earlier releases durable. */
  #sync(statement: Sql, change: Change): void {
    const { before } = change
    if (!before || !isNotSynced(statement)) {
      this.#unsynced = []
      return
    }
    const undo = (): void => {
      this.world.trace('database', `lost the unlock of ${before.name} in the crash`)
      this.table.put(before)
      this.observer?.onUnlockUndone(before.name)
    }
    this.#unsynced.push({ change, undo })
  }

  #answer(request: Request, answer: Effect | DriverError): void {
    this.#answering.add(request)
    request.respond(answer)
  }
}
