import { LockError } from '../../src/core/errors'
import { executeOnce } from '../../src/core/execute-once'
import { acquisitionOf } from '../../src/core/held-lock'
import type { ActiveLock } from '../../src/core/lock'
import { activeLock, assertLocked } from '../../src/core/scope'
import { guardTransaction } from '../../src/sql/guard'
import type { LockRow } from '../../src/sql/lock-row'
import { SimulatedSqlClient } from './network'
import type { Instance } from './instance'
import type { Job } from './plan'

const WAIT = { atMost: 3_000, interval: 1_000 }

/** Runs one job of one process again and again. */
export class Work {
  readonly #durations: { readonly lockAtMostFor: number; readonly lockAtLeastFor: number }

  constructor(
    private readonly instance: Instance,
    private readonly name: string,
    private readonly job: Job,
  ) {
    const { lockAtMostFor, atLeast } = job
    this.#durations = { lockAtMostFor, lockAtLeastFor: Math.floor(lockAtMostFor * atLeast) }
  }

  async repeat(): Promise<void> {
    const { instance, job } = this
    const { process } = instance
    if (job.kind === 'leader') {
      instance.join(this.name, job.lockAtMostFor, Math.min(job.every, job.lockAtMostFor / 4))
      return
    }
    for (let patience = 1; ;) {
      await process.sleep(process.random.between(0, job.every * patience))
      if (process.isStopping) return
      const { acquired } = instance
      instance.pending++
      try {
        await this.#once()
      } catch (error) {
        instance.failed(error)
      }
      instance.pending--
      // Try less often after a refusal, so that most of the time goes to holders.
      patience = instance.acquired > acquired ? 1 : Math.min(16, patience * 2)
    }
  }

  #once(): Promise<unknown> {
    const { random } = this.instance.process
    return random.pick(this.#ways[this.job.kind])()
  }

  readonly #ways: Readonly<Record<Job['kind'], readonly (() => Promise<unknown>)[]>> = {
    plain: [
      () => this.#task(),
      () => this.#task(),
      () => this.#task(),
      () => this.#task({ wait: WAIT }),
      () => this.#guarded(),
      () => this.#byHand(),
      () => this.#byHand(),
    ],
    slot: [() => this.#task({ slot: this.#slot() })],
    until: [
      () => this.#task({ slot: this.#slot() }),
      () => this.#task({ slot: this.#slot(), wait: WAIT }),
      () => this.#byHand(this.#slot()),
    ],
    once: [() => this.#doOnce()],
    leader: [],
  }

  /** Runs a task with the executor, and checks that the outcome is the task's own, whatever happens to the lock. */
  async #task(
    how: { readonly slot?: number; readonly wait?: typeof WAIT } = {},
    more?: (lock: ActiveLock) => Promise<void>,
  ): Promise<void> {
    const { instance, name } = this
    const { process } = instance
    const { random, world } = process
    const atMost = this.job.lockAtMostFor * random.pick([0.5, 1.5, 3])
    const keepAlive = random.chance(0.3) && (random.chance(0.5) || { atMost })
    const own = { value: random.next() }
    const ownError = new Error('of the task')
    const throws = random.chance(0.1)
    const task = { ran: false }
    const until = this.job.kind === 'until'
    const configuration = { name, ...this.#durations, keepAlive, untilSucceeded: until, ...how }
    try {
      const result = await instance.executor.executeWithLock(configuration, async ({ lock }) => {
        if (task.ran) world.fail('a slot runs once', `${process.name} ran one task of ${name} twice`)
        task.ran = true
        const handle = instance.handleOf(lock)
        instance.witness.started(handle, how.slot, until)
        world.trace(process.name, `runs ${name}`)
        if (activeLock() !== lock) world.fail('scopes', `${process.name} does not see the lock of ${name}`)
        if (lock.remaining() > 0) assertLocked(name)
        await this.#workUnder(lock)
        await more?.(lock)
        world.trace(process.name, `ran ${name}`)
        handle.outcome = throws ? 'failed' : 'succeeded'
        if (throws) throw ownError
        return own
      })
      const isRight = result.executed ? task.ran && result.value === own && !throws : !task.ran
      if (!isRight)
        world.fail('the outcome of the task', `${process.name} got ${JSON.stringify(result)} of ${name}`)
    } catch (error) {
      if (task.ran ? !(throws && error === ownError) : !(error instanceof LockError))
        world.fail('the outcome of the task', `${process.name} got ${String(error)} of ${name}`)
      if (error !== ownError) throw error
    }
  }

  async #workUnder(lock: ActiveLock): Promise<void> {
    const { process } = this.instance
    const { random } = process
    const steps = 1 + Math.floor(random.next() * 3)
    const heedsSignal = random.chance(0.7)
    const length = this.job.work * this.job.lockAtMostFor * (0.5 + random.next())
    for (let step = 0; step < steps; step++) {
      await process.sleep(Math.min(length, 20_000) / steps)
      this.#checkSignal(lock)
      if (lock.signal.aborted && heedsSignal) return
      if ('unlock' in lock) continue
      if (random.chance(0.2)) await this.#extend(lock)
      this.#checkSignal(lock)
      if (random.chance(0.1)) await this.#askToken(lock)
    }
  }

  async #extend(lock: ActiveLock): Promise<void> {
    const shorter = this.instance.process.random.chance(0.5) ? 10 : 1
    const extended = lock.extend(Math.max(100, this.job.lockAtMostFor / shorter))
    await extended.catch((error: unknown) => this.instance.failed(error))
  }

  async #askToken(lock: ActiveLock): Promise<void> {
    try {
      const token = await lock.fencingToken()
      const { owner: run } = this.instance.handleOf(lock)
      const { process, witness } = this.instance
      witness.record(process, { type: 'token', at: process.world.now, run, token })
    } catch (error) {
      this.instance.failed(error)
    }
  }

  /** Checks that the signal aborts in time when the lease is over, if the process is awake. */
  #checkSignal(lock: ActiveLock): void {
    const { process, witness } = this.instance
    const { owner: run } = this.instance.handleOf(lock)
    const { aborted } = lock.signal
    const reason: unknown = lock.signal.reason
    if (aborted && lock.remaining() > 0 && reason instanceof LockError && reason.code === 'LOCK_LOST')
      process.world.fail('a lost lock stays lost', `${process.name} considers ${lock.name} held again`)
    if (aborted || lock.remaining() > 0) return
    process.world.at(2, process, 'other', () => {
      // An extension may have been answered in the meantime.
      if (!lock.signal.aborted && lock.remaining() === 0)
        witness.record(process, { type: 'unaborted', at: process.world.now, run })
    })
  }

  async #guarded(): Promise<void> {
    const { instance } = this
    const { process, database, plan } = instance
    await this.#task({}, async (lock) => {
      const transaction = database.begin(process)
      const inTransaction = new SimulatedSqlClient(process, database, instance.sql.quality, transaction)
      try {
        const acquisition = acquisitionOf(lock) as LockRow
        await guardTransaction(inTransaction, acquisition)
        transaction.guarded.set(this.name, acquisition.owner)
        await process.sleep(process.random.next() * plan.latency * 4)
        process.world.trace(process.name, `commits under ${this.name}`)
        database.end(transaction, 'commit')
      } catch (error) {
        database.end(transaction, 'rollback')
        if (error instanceof LockError) instance.failed(error)
      }
    })
  }

  async #byHand(slot?: number): Promise<void> {
    const { instance, name } = this
    const { random, world } = instance.process
    const until = this.job.kind === 'until'
    const waits = random.chance(0.3) && { wait: WAIT, signal: instance.stopped }
    const keepAlive = random.chance(0.3)
    const lock = await instance.lock({
      ...{ name, ...this.#durations, slot, untilSucceeded: until, keepAlive },
      ...waits,
    })
    if (!lock) return
    const handle = instance.handleOf(lock)
    instance.witness.started(handle, slot, until)
    world.trace(instance.process.name, `has ${name}`)
    await this.#workUnder(lock)
    // Some callers forget to release the lock, so it expires.
    if (!keepAlive && this.job.lockAtMostFor <= 10_000 && random.chance(0.1)) return
    const outcome = random.pick([undefined, 'succeeded', 'failed'] as const)
    handle.outcome = outcome ?? 'unlocked'
    await (outcome ? lock.unlock({ outcome }) : lock[Symbol.asyncDispose]())
  }

  /**
   * Returns the current slot, which is the same on every instance with a correct clock, or the one before, as from a late
   * scheduler.
   */
  #slot(): number {
    const { process } = this.instance
    const interval = Math.max(this.job.kind === 'slot' ? 500 : 1_000, this.job.every)
    const late = process.random.chance(0.1) ? 1 : 0
    return (Math.floor(process.wall() / interval) - late) * interval
  }

  async #doOnce(): Promise<void> {
    const { process, witness } = this.instance
    const { lockAtMostFor } = this.job
    const { stopped: signal } = this.instance
    const configuration = { name: this.name, slot: this.#slot(), lockAtMostFor, wait: 3_000, signal }
    const throws = process.random.chance(0.2)
    await executeOnce(this.instance, configuration, async ({ lock }) => {
      const handle = this.instance.handleOf(lock)
      witness.started(handle, configuration.slot, true)
      await process.sleep(Math.min(this.job.work * lockAtMostFor, 20_000))
      handle.outcome = throws ? 'failed' : 'succeeded'
      if (throws) throw new LockError('NOT_LOCKED', 'of the task')
    })
  }
}
