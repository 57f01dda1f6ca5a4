import { activeLock, assertLocked, LockError, type ActiveLock, type SimpleLock } from '../../src/core'
import { executeOnce, guardTransaction, sqlAcquisition } from '../../src/sql'
import { SimulatedSqlExecutor } from './network'
import type { Instance } from './instance'
import type { Job } from './plan'

/** What one process does under one lock, again and again. */
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
      instance.stand(this.name, job.lockAtMostFor, Math.min(job.every, job.lockAtMostFor / 4))
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
      // Most of the time is for those who get it.
      patience = instance.acquired > acquired ? 1 : Math.min(16, patience * 2)
    }
  }

  #once(): Promise<unknown> {
    const { random } = this.instance.process
    const ways =
      this.job.kind === 'slot' ? this.#slotWays : this.job.kind === 'once' ? this.#onceWays : this.#plainWays
    return random.pick(ways)()
  }

  readonly #plainWays = [
    () => this.#task('executor'),
    () => this.#task('executor'),
    () => this.#task('executor'),
    () => this.#task('waiting'),
    () => this.#guarded(),
    () => this.#byHand(),
    () => this.#keptAlive(),
    () => this.#tracked(),
  ]
  readonly #slotWays = [() => this.#task('executor', this.#slot()), () => this.#coordinated()]
  readonly #onceWays = [() => this.#doOnce()]

  /** The outcome is the task's own, whatever becomes of the lock. */
  async #task(
    which: 'executor' | 'waiting',
    slot?: number,
    more?: (lock: ActiveLock) => Promise<void>,
  ): Promise<void> {
    const { instance, name } = this
    const { process } = instance
    const { random, world } = process
    const keepAlive = random.chance(0.3)
    const own = { value: random.next() }
    const ownError = new Error('of the task')
    const throws = random.chance(0.1)
    const task = { ran: false }
    const configuration = {
      name,
      ...this.#durations,
      keepAlive,
      slot,
      ...(slot === undefined ? {} : { lockAtLeastFor: 0 }),
    }
    try {
      const result = await instance[which].executeWithLock(configuration, async ({ lock }) => {
        if (task.ran) world.fail('slots once', `${process.name} ran one task of ${name} twice`)
        task.ran = true
        const handle = instance.handleOf(lock.acquisition)
        if (handle) instance.referee.started(handle, slot)
        world.trace(process.name, `runs ${name}`)
        if (activeLock() !== lock) world.fail('scopes', `${process.name} does not see the lock of ${name}`)
        if (lock.remaining() > 0) assertLocked(name)
        await this.#workUnder(lock)
        await more?.(lock)
        world.trace(process.name, `ran ${name}`)
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

  async #workUnder(lock: ActiveLock | SimpleLock): Promise<void> {
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
      if (random.chance(0.1)) await this.#nest(lock)
    }
  }

  async #extend(lock: ActiveLock): Promise<void> {
    const shorter = this.instance.process.random.chance(0.5) ? 10 : 1
    const extended = lock.extend(Math.max(100, this.job.lockAtMostFor / shorter))
    await extended.catch((error: unknown) => {
      this.instance.failed(error)
    })
  }

  async #askToken(lock: ActiveLock | SimpleLock): Promise<void> {
    try {
      const token = await lock.fencingToken()
      const handle = this.instance.handleOf(lock.acquisition)
      if (handle) this.instance.referee.token(handle, token)
    } catch (error) {
      this.instance.failed(error)
    }
  }

  /** The same lock inside of its own task. */
  async #nest(lock: ActiveLock): Promise<void> {
    const { instance, name } = this
    if (lock.remaining() === 0) return
    const inside = () =>
      instance.executor.executeWithLock({ name, ...this.#durations }, () => {
        const handle = instance.latest.get(name)
        if (handle) instance.referee.started(handle)
      })
    // Under the waiting provider it is another lock, which is held, or given when the lease has ended meanwhile.
    await Promise.all([inside(), inside()]).catch((error: unknown) => {
      instance.failed(error)
    })
  }

  /** Whoever is awake hears in time that its lease is over. */
  #checkSignal(lock: ActiveLock | SimpleLock): void {
    const { process } = this.instance
    const { aborted } = lock.signal
    const reason: unknown = lock.signal.reason
    if (aborted && lock.remaining() > 0 && reason instanceof LockError && reason.code === 'LOCK_LOST')
      process.world.fail('what is lost stays lost', `${process.name} trusts ${lock.name} again`)
    if (aborted || lock.remaining() > 0) return
    process.world.at(2, process, 'other', () => {
      // An extension may have been answered in the meantime.
      if (!lock.signal.aborted && lock.remaining() === 0)
        process.world.fail('the holder knows', `${process.name} was not told that ${lock.name} is over`)
    })
  }

  async #guarded(): Promise<void> {
    const { instance } = this
    const { process, database, plan } = instance
    await this.#task('executor', undefined, async (lock) => {
      const transaction = database.begin(process)
      const inTransaction = new SimulatedSqlExecutor(process, database, instance.sql.quality, transaction)
      try {
        const acquisition = sqlAcquisition(lock)
        await guardTransaction(inTransaction, acquisition)
        transaction.guarded.set(this.name, acquisition.holder.lockedBy)
        await process.sleep(process.random.next() * plan.latency * 4)
        process.world.trace(process.name, `commits under ${this.name}`)
        database.end(transaction, 'commit')
      } catch (error) {
        database.end(transaction, 'rollback')
        if (error instanceof LockError) instance.failed(error)
      }
    })
  }

  async #byHand(): Promise<void> {
    const { instance, name } = this
    const { random } = instance.process
    let lock = await instance.lock({ name, ...this.#durations })
    if (!lock) return
    this.#begin(lock)
    await this.#workUnder(lock)
    if (random.chance(0.3)) await this.#askToken(lock)
    if (random.chance(0.3)) {
      const longer = await lock.extend(this.job.lockAtMostFor).catch((error: unknown) => {
        instance.failed(error)
        return lock
      })
      if (!longer) return
      lock = longer
    }
    // Some forget it: then the lease ends it.
    if (this.job.lockAtMostFor <= 10_000 && random.chance(0.1)) return
    await lock.unlock()
  }

  async #keptAlive(): Promise<void> {
    const lock = await this.instance.keptAlive.lock({ name: this.name, ...this.#durations })
    if (!lock) return
    this.#begin(lock)
    await this.#workUnder(lock)
    await lock.unlock()
  }

  async #tracked(): Promise<void> {
    const { tracking, process } = this.instance
    const lock = await tracking.lock({ name: this.name, ...this.#durations })
    if (!lock) return
    this.#begin(lock)
    await this.#workUnder(lock)
    if (process.random.chance(0.2)) await tracking.releaseAll().catch(() => undefined)
    await lock[Symbol.asyncDispose]()
  }

  #begin({ acquisition }: SimpleLock): void {
    const handle = this.instance.handleOf(acquisition)
    if (handle) this.instance.referee.started(handle)
    this.instance.process.world.trace(this.instance.process.name, `has ${this.name}`)
  }

  /** Slots are the same on every instance; a scheduler may be late by one, or come twice. */
  #slot(): number {
    const { world, random } = this.instance.process
    const interval = Math.max(500, this.job.every)
    const late = random.chance(0.1) ? 1 : 0
    return (Math.floor((world.epoch + world.now) / interval) - late) * interval
  }

  async #coordinated(): Promise<void> {
    const { coordinator, referee, process } = this.instance
    const slot = this.#slot()
    const key = `${this.name}:${new Date(slot).toISOString()}`
    if (!(await coordinator.shouldRun(key, this.job.lockAtMostFor))) return
    const handle = this.instance.latest.get(this.name)
    if (handle) referee.started(handle, slot)
    await process.sleep(Math.min(this.job.work * this.job.lockAtMostFor, 20_000))
    await coordinator.onComplete(key)
  }

  async #doOnce(): Promise<void> {
    const { provider, process } = this.instance
    const { lockAtMostFor } = this.job
    const { stopped: signal } = this.instance
    const configuration = { name: this.name, slot: this.#slot(), lockAtMostFor, wait: 3_000, signal }
    const seen = { lock: this.instance.lock.bind(this.instance), listLocks: () => provider.listLocks() }
    await executeOnce(seen, configuration, async ({ lock }) => {
      const handle = this.instance.handleOf(lock.acquisition)
      if (handle) this.instance.referee.started(handle)
      await process.sleep(Math.min(this.job.work * lockAtMostFor, 20_000))
    })
  }
}
