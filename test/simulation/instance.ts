import {
  KeepAliveLockProvider,
  leaderElection,
  LockError,
  LockingTaskExecutor,
  TrackingLockProvider,
  WaitingLockProvider,
  type LeaderElection,
  type LockConfiguration,
  type LockOptions,
  type LockProvider,
  type RefusalReason,
  type SimpleLock,
} from '../../src/core'
import { heldLockOf } from '../../src/core/simple-lock'
import { ShedLockCoordinator } from '../../src/node-cron/shed-lock-coordinator'
import { sqlAcquisition, SqlLockProvider, type Dialect } from '../../src/sql'
import type { Database } from './database'
import { SimulatedSqlExecutor } from './network'
import type { Plan } from './plan'
import type { Handle, Referee } from './referee'
import type { SimulatedProcess } from './simulated-process'

/** One running copy of an application: all that the library offers, on one provider whose locks the referee sees. */
export class Instance implements LockProvider {
  readonly sql: SimulatedSqlExecutor
  readonly provider: SqlLockProvider
  readonly executor: LockingTaskExecutor
  readonly waiting: LockingTaskExecutor
  readonly keptAlive: KeepAliveLockProvider
  readonly tracking: TrackingLockProvider
  readonly coordinator: ShedLockCoordinator
  readonly elections: LeaderElection[] = []
  /** Calls that have not come to their end. */
  pending = 0
  /** How many locks it was given. */
  acquired = 0
  /** The latest lock of each name. */
  readonly latest = new Map<string, Handle>()
  readonly #handles = new WeakMap<object, Handle>()
  readonly #stopped = new AbortController()

  constructor(
    readonly process: SimulatedProcess,
    readonly plan: Plan,
    readonly database: Database,
    readonly referee: Referee,
    dialect: Dialect,
  ) {
    const { latency, late, lost, cut } = plan
    this.sql = new SimulatedSqlExecutor(process, database, { latency, late, lost, cut })
    this.provider = new SqlLockProvider(this.sql, dialect, {
      timeLimit: plan.timeLimit,
      lockedBy: process.name,
    })
    const listeners = [{ onUnlockFailed: () => undefined }]
    this.executor = new LockingTaskExecutor(this, { listeners })
    this.waiting = new LockingTaskExecutor(new WaitingLockProvider(this, { timeout: 3_000, pause: 1_000 }), {
      listeners,
    })
    this.keptAlive = new KeepAliveLockProvider(this)
    this.tracking = new TrackingLockProvider(this)
    this.coordinator = new ShedLockCoordinator(this, listeners)
  }

  /** As the provider, and the referee looks at what comes of it. */
  async lock(configuration: LockConfiguration, options: LockOptions = {}): Promise<SimpleLock | undefined> {
    const { process, referee } = this
    const { name } = configuration
    const asked = process.awake()
    if (this.#stopped.signal.aborted && !name.endsWith('/done'))
      process.world.fail('a shutdown ends the waiting', `${process.name} asks for ${name} after it`)
    const refused = referee.asks(name)
    let refusal: RefusalReason | undefined
    try {
      const lock = await this.provider.lock(configuration, {
        ...options,
        onRefused: (reason, holder) => {
          refusal = reason
          options.onRefused?.(reason, holder)
        },
      })
      if (lock) {
        this.acquired++
        const handle = referee.acquired(name, sqlAcquisition(lock).holder.lockedBy, process, heldLockOf(lock))
        this.#handles.set(handle.held.acquisition ?? handle, handle)
        this.latest.set(name, handle)
      } else if (refusal === 'already-run') referee.refusedSlot(name, Number(configuration.slot))
      else if (this.plan.conflicts === 0) refused()
      return lock
    } finally {
      // The table may be looked at first, and an error be explained.
      const limit = 2 * this.plan.timeLimit + 100
      if (process.awake() - asked > limit)
        process.world.fail(
          'nothing hangs',
          `${process.name} waited ${process.awake() - asked} ms for ${name}`,
        )
    }
  }

  get stopped(): AbortSignal {
    return this.#stopped.signal
  }

  handleOf(acquisition: object | undefined): Handle | undefined {
    return acquisition && this.#handles.get(acquisition)
  }

  stand(name: string, lockAtMostFor: number, pause: number): void {
    const { process, referee } = this
    const election = leaderElection(
      this,
      { name, lockAtMostFor, pause, listeners: [{ onUnlockFailed: () => undefined }] },
      {
        onElected: (lock) => {
          const handle = this.handleOf(lock.acquisition)
          if (handle) referee.started(handle)
          process.world.trace(process.name, `leads ${name}`)
        },
        onDeposed: () => {
          process.world.trace(process.name, `leads ${name} no more`)
        },
        onError: (error) => {
          this.failed(error)
        },
      },
    )
    this.elections.push(election)
  }

  /** An error that a caller of the library got. */
  failed(error: unknown): void {
    this.referee.errors++
    const { world, name } = this.process
    if (!(error instanceof LockError)) throw error
    world.trace(name, `got ${error.code}: ${error.message}`)
    if (
      ![
        'TIMEOUT',
        'DATABASE_ERROR',
        'LOCK_LOST',
        'SHUTDOWN',
        'NOT_LOCKED',
        'NOT_ACQUIRED',
        'LOCK_SPENT',
      ].includes(error.code)
    )
      world.fail('errors', `${name} got ${error.code}: ${error.message}`)
    const hadNoTime = / within \d\d? ms /.test(error.message)
    if (this.isQuiet && !hadNoTime && ['TIMEOUT', 'DATABASE_ERROR'].includes(error.code))
      world.fail('a good network has no errors', `${name} got ${error.code}: ${error.message}`)
  }

  /** Nothing is broken in this world. */
  get isQuiet(): boolean {
    const { faults, late, lost, cut, conflicts, latency, timeLimit } = this.plan
    return faults.length === 0 && late + lost + cut + conflicts === 0 && latency * 20 < timeLimit
  }

  /** As at the end of a process: everything comes to its end. */
  async shutDown(): Promise<void> {
    const timeout = 30_000
    this.process.isStopping = true
    this.#stopped.abort(new LockError('SHUTDOWN', 'the process ends'))
    this.process.world.trace(this.process.name, 'shuts down')
    await Promise.all([
      this.executor.shutdown({ timeout }),
      this.waiting.shutdown({ timeout }),
      this.coordinator.shutdown({ timeout }),
      this.tracking.releaseAll().catch(() => undefined),
      ...this.elections.map((election) => election.stop({ timeout })),
    ])
  }
}
