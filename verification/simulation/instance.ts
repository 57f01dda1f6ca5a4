import { LockError } from '../../src/core/errors'
import { acquisitionOf } from '../../src/core/held-lock'
import { leaderElection, type LeaderElection } from '../../src/core/leader-election'
import type { ActiveLock, CheckedLockConfiguration, Refusal, Duration } from '../../src/core/lock'
import { LockProvider } from '../../src/core/lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { Dialect } from '../../src/sql/dialect'
import type { LockRow } from '../../src/sql/lock-row'
import { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import type { Database } from './database'
import { SimulatedSqlClient } from './network'
import type { Plan } from './plan'
import type { SimulatedProcess } from './simulated-process'
import type { Handle, Witness } from './witness'

/** One instance of an application. It uses everything that the library offers, on one provider whose locks the witness records. */
export class Instance extends LockProvider {
  readonly sql: SimulatedSqlClient
  readonly provider: SqlLockProvider
  readonly executor: LockingTaskExecutor
  readonly elections: LeaderElection[] = []
  /** The number of calls in progress. */
  pending = 0
  /** The number of locks that it has acquired. */
  acquired = 0
  readonly #handles = new WeakMap<object, Handle>()
  readonly #stopped = new AbortController()

  constructor(
    readonly process: SimulatedProcess,
    readonly plan: Plan,
    readonly database: Database,
    readonly witness: Witness,
    dialect: Dialect,
  ) {
    super()
    const { latency, late, lost, cut, timeLimit } = plan
    this.sql = new SimulatedSqlClient(process, database, { latency, late, lost, cut })
    this.provider = new SqlLockProvider(this.sql, dialect, { timeLimit, lockedBy: process.name })
    const listeners = [{ onUnlockFailed: () => undefined, onLockLost: () => undefined }]
    this.executor = new LockingTaskExecutor(this, { listeners })
  }

  /** Acquires from the provider, and records the result. */
  override acquire(configuration: CheckedLockConfiguration): Promise<LockRow | Refusal> {
    return this.#acquire(configuration, this.provider)
  }

  override forCaller(): Pick<LockProvider, 'acquire' | 'drain'> {
    const locks = this.provider.forCaller()
    return {
      acquire: (configuration) => this.#acquire(configuration, locks),
      drain: (options) => locks.drain?.(options) ?? Promise.resolve(),
    }
  }

  async #acquire(
    configuration: CheckedLockConfiguration,
    locks: Pick<LockProvider, 'acquire'>,
  ): Promise<LockRow | Refusal> {
    const { process, witness, database } = this
    const { name } = configuration
    const asked = process.awake()
    const { suspendedFor } = process
    if (this.#stopped.signal.aborted)
      process.world.fail(
        'a shutdown stops waiting for locks',
        `${process.name} requests ${name} after its shutdown`,
      )
    const started = process.world.now
    const { clockChanges } = database
    const refused = (reason: string): void => {
      // A free lock is held again if the clock was set back.
      if (reason === 'held' && (database.clockChanges !== clockChanges || database.isClockStopped)) return
      const { slot, untilSucceeded: until } = configuration
      const at = process.world.now
      witness.record(process, { type: 'refused', at, asked: started, name, reason, slot, until })
    }
    try {
      const answer = await (locks.acquire(configuration) as Promise<LockRow | Refusal>)
      if (!('reason' in answer)) {
        this.#watch(answer, started)
        return answer
      }
      witness.refusals++
      refused(answer.reason)
      return answer
    } catch (error) {
      const { timeLimit, latency } = this.plan
      const isAnswered = this.isReliable && timeLimit >= 1_000 && latency * 40 < timeLimit
      // A free lock is acquired in time.
      if (isAnswered && error instanceof LockError && error.code === 'TIMEOUT') refused('held')
      throw error
    } finally {
      const { timeLimit } = this.plan
      // A process that stood still gets its time again.
      const limit = timeLimit + Math.min(process.suspendedFor - suspendedFor, timeLimit) + 100
      if (process.awake() - asked > limit)
        process.world.fail(
          'nothing hangs',
          `${process.name} waited ${process.awake() - asked} ms for ${name}`,
        )
    }
  }

  #watch(acquisition: LockRow, asked: number): void {
    const { name, owner } = acquisition
    const { world } = this.process
    const handle = this.witness.acquired(name, owner, this.process, asked, {
      remaining: () => acquisition.lease.remaining(),
    })
    this.acquired++
    this.#handles.set(acquisition, handle)
    const unlock = acquisition.unlock.bind(acquisition)
    acquisition.unlock = async (outcome) => {
      if (!handle.isUsed && outcome !== 'unused')
        world.fail(
          'unused slots are released',
          `${this.process.name} releases ${name} as ${outcome}, although it was not used`,
        )
      if (handle.isUsed) this.witness.releases(handle)
      handle.isOver = true
      const wasOurs = await unlock(outcome)
      if (!wasOurs)
        world.fail('only a lost lock is told', `${this.process.name} found ${name} released by somebody else`)
      if (handle.isUsed)
        this.witness.record(this.process, { type: 'unlocked', at: world.now, run: handle.owner })
      return wasOurs
    }
    world.at(1, this.process, 'other', () => {
      if (!handle.isUsed && !handle.isOver)
        world.fail('no lock is left behind', `${this.process.name} neither uses nor releases ${name}`)
    })
  }

  override async drain(timeout?: Duration): Promise<void> {
    await this.provider.drain(timeout)
  }

  get stopped(): AbortSignal {
    return this.#stopped.signal
  }

  handleOf(lock: ActiveLock): Handle {
    const handle = this.#handles.get(acquisitionOf(lock) ?? lock)
    if (!handle) throw new Error(`The acquisition of ${lock.name} was not recorded.`)
    handle.lock = lock
    return handle
  }

  join(name: string, lockAtMostFor: number, interval: number): void {
    const { process, witness } = this
    const election = leaderElection(
      this,
      { name, lockAtMostFor, interval, listeners: [{ onUnlockFailed: () => undefined }] },
      {
        onElected: (lock) => {
          const handle = this.handleOf(lock)
          witness.started(handle)
          handle.outcome = 'succeeded'
          process.world.trace(process.name, `leads ${name}`)
        },
        onStepDown: () => process.world.trace(process.name, `no longer leads ${name}`),
        onError: (error) => this.failed(error),
      },
    )
    this.elections.push(election)
  }

  /** Records and checks an error that a caller of the library got. */
  failed(error: unknown): void {
    this.witness.errors++
    const { world, name } = this.process
    if (!(error instanceof LockError)) throw error
    world.trace(name, `got ${error.code}: ${error.message}`)
    if (
      !['TIMEOUT', 'DATABASE_ERROR', 'LOCK_LOST', 'SHUTDOWN', 'NOT_LOCKED', 'SKIPPED'].includes(error.code) &&
      !(this.#clocksDiffer && error.message.includes('ahead of the database'))
    )
      world.fail('errors', `${name} got ${error.code}: ${error.message}`)
    const hadNoTime = / within \d\d? ms /.test(error.message)
    if (this.isQuiet && !hadNoTime && ['TIMEOUT', 'DATABASE_ERROR'].includes(error.code))
      world.fail('a good network has no errors', `${name} got ${error.code}: ${error.message}`)
  }

  /** Whether the clock of this process or of the database was ever wrong. */
  get #clocksDiffer(): boolean {
    return this.process.hadWrongClock || this.plan.faults.some(({ kind }) => kind.startsWith('clock'))
  }

  /** Whether nothing fails in this world and no statement loses a race. */
  get isQuiet(): boolean {
    const { conflicts, latency, timeLimit } = this.plan
    return this.isReliable && conflicts === 0 && latency * 20 < timeLimit
  }

  /** Whether each statement is answered. */
  get isReliable(): boolean {
    const { faults, late, lost, cut } = this.plan
    return faults.length === 0 && late + lost + cut === 0
  }

  #ending: Promise<void> | undefined

  /** Shuts everything down, as at the end of a process. May be called twice for a process that was blocked. */
  shutDown(): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<void> {
    const timeout = 30_000
    const started = this.process.now()
    this.process.isStopping = true
    this.process.stoppingSince = Math.min(this.process.stoppingSince, this.process.world.now)
    this.#stopped.abort(new LockError('SHUTDOWN', 'the process ends'))
    this.process.world.trace(this.process.name, 'shuts down')
    // Some processes drain their provider without waiting for callers that still hold or request a lock.
    this.process.isHasty = this.process.random.chance(0.3)
    await Promise.all([
      this.executor.shutdown({ timeout, abortAfter: this.process.isHasty ? 0 : timeout / 3 }),
      ...this.elections.map((election) => election.shutdown({ timeout })),
      ...(this.process.isHasty ? [this.provider.drain(timeout)] : []),
    ])
    // Callers that use the provider directly are not affected by a shutdown, so wait for them.
    while (this.pending > 0) await this.process.sleep(100)
    if (!this.process.isHasty) await this.provider.drain(timeout)
    // A timer cuts what is left of the time-out to whole milliseconds.
    const gaveUp = this.process.now() - started >= timeout - 1
    if (gaveUp) this.process.isHasty = true
  }
}
