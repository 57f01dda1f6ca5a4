import { types } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common'
import {
  aDuration,
  type Cancel,
  type Job,
  parseShutdown,
  parseSlot,
  configurationError,
  Lease,
  isUnanswered,
  LockError,
  time,
  untilAnswered,
} from '../core/internal'
import { scheduleOf, schedulerOf } from './cron-slot'
import {
  checkTables,
  instancesOf,
  lockProvidersFor,
  ONE_CORE,
  placesOf,
  tableOf,
  type LockProviders,
  type Modules,
} from './lock-providers'
import { bindExecutors, type LockingTaskExecutors } from './locking-task-executors'
import { moveOutermost } from './outermost-modules'
import { configurationOf, isLocked, locksOf, prototypesOf } from './scheduler-lock.decorator'
import type { SchedulerLockOptions } from './scheduler-lock-options'
import { checkModuleOptions, executorsFor, type ShedLockModuleOptions } from './shed-lock-module-options'

/**
 * `createApplicationContext` starts the application before it returns, so `enableShutdownHooks`, and some migrations, come later; and most
 * tests have closed it by then. In milliseconds.
 */
const CHECK_AFTER = 5_000

/** Checks the locked methods when the application starts, and ends executors and providers when it shuts down. */
export class ShedLockLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly providers: LockProviders
  readonly #logger = new Logger('ShedLock')
  readonly #catchUps: (() => Promise<void>)[] = []
  /** The scheduled methods by what no two of them may share. */
  readonly #scheduled = new Map<string, { readonly instance: object; readonly key: PropertyKey }>()
  #places = ''
  #ended: Promise<void> | undefined
  #cancelCheck: Cancel | undefined
  /** Aborts when nothing may start any more. */
  readonly #shutdown = new AbortController()

  /** @throws LockError `INVALID_CONFIGURATION` */
  constructor(
    private readonly options: ShedLockModuleOptions,
    private readonly executors: LockingTaskExecutors,
    private readonly modules: Modules = new Map(),
  ) {
    checkModuleOptions(options)
    this.providers = lockProvidersFor(options, modules)
    executors.set(executorsFor(options, this.providers), options.cronTime)
    moveOutermost(modules)
  }

  /** Gives the executors to all instances. Runs before all other hooks, in which locked methods may already be called. */
  bind(): void {
    for (const { instance } of instancesOf(this.modules))
      unlessUnresolved(instance, () => {
        bindExecutors(instance, this.executors)
      })
  }

  /** Runs when all instances exist but no scheduler has started: `@nestjs/schedule` starts in `onApplicationBootstrap`. */
  onModuleInit(): void {
    this.#refuseSecondModule()
    this.#places = placesOf(this.providers, this.options.allowInMemory)
    if ([...this.modules.values()].length === 0)
      this.#logger.warn(
        `@nestjs/core is loaded twice, so locked methods are not checked, and a client that ends in onModuleDestroy ends before running jobs – ${ONE_CORE}`,
      )
    const unlocked = new Map<string, string>()
    for (const { instance, isStatic } of instancesOf(this.modules))
      unlessUnresolved(instance, () => {
        if (!types.isProxy(instance)) this.executors.slots?.findScheduler(instance)
        for (const [key, lock] of locksOf(instance)) {
          this.#check(instance, key, lock)
          if (isStatic && isLocked(instance, key)) {
            this.#refuseSharedName(instance, key, lock)
            if (typeof lock.name === 'string') this.executors.jobs[lock.name] = this.#jobOf(instance, key)
          }
        }
        for (const name of methodsOf(instance)) {
          const decorator = schedulerOf(instance, name)
          if (decorator && !isLocked(instance, name)) unlocked.set(nameOf(instance, name), decorator)
        }
      })
    this.#warnOf(unlocked)
  }

  /** Starts the runs to catch up, without awaiting them: they must not delay the application's start. */
  onApplicationBootstrap(): void {
    for (const catchUp of this.#catchUps) void catchUp()
    this.#cancelCheck = time.after(
      CHECK_AFTER,
      () => {
        this.#checkSignals()
        void this.#checkTables()
      },
      false,
    )
  }

  async #checkTables(): Promise<void> {
    // Instances with other time-zone data may compute other slots.
    const zones = `Time-zone data: ${process.versions['tz'] ?? 'of the system'}`
    if (await checkTables(this.providers, this.#logger, this.#shutdown.signal))
      this.#logger.log(`Locks go to ${this.#places}. ${zones}`)
  }

  #checkSignals(): void {
    if (isMainThread && process.listenerCount('SIGTERM') === 0)
      this.#logger.warn(
        'Nothing handles SIGTERM, so a deploy interrupts running jobs and leaves their locks held – call app.enableShutdownHooks()',
      )
  }

  /** Waits for `shutDown` if @nestjs/core is loaded twice, because nothing then orders the calls of `onModuleDestroy`. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.shutDown()
  }

  /**
   * Ends executors and providers once, however often the application is closed. Runs before the application's own hooks, because any of
   * them may end the client.
   */
  shutDown(): Promise<void> {
    return (this.#ended ??= this.#end())
  }

  async #end(): Promise<void> {
    this.executors.areShutDown = true
    this.#shutdown.abort()
    this.#cancelCheck?.()
    const shutdown = parseShutdown(this.options.shutdown ?? {})
    const lease = new Lease(shutdown.timeout)
    const ending = this.executors.all().map((executor) => executor.shutdown(shutdown))
    const late = (await Promise.all(ending)).flat()
    if (late.length > 0)
      this.#logger.warn(
        `Tasks did not end within the shutdown timeout; their locks stay held until they end, or until they expire: ${late.join(', ')} – end each task when its signal aborts, or set a longer shutdown.timeout`,
      )
    // Locks acquired by hand and by executeOnce use the providers directly, and may still have releases in the background.
    await Promise.all(
      Array.from(this.providers.values(), async (provider) => provider.drain?.(lease.remaining())),
    )
  }

  #jobOf(instance: object, key: PropertyKey): Job {
    return {
      due: this.executors.slots?.dueOf(instance, key),
      run: () => (instance as Record<PropertyKey, () => unknown>)[key]?.(),
    }
  }

  /** Checks a locked method's configuration with the defaults of the module, and schedules its run to catch up. */
  #check(instance: object, key: PropertyKey, lock: SchedulerLockOptions): void {
    const { provider, slot, catchUp, untilSucceeded, ...configuration } = configurationOf(instance, lock)
    const { name } = configuration
    const { slots } = this.executors
    const hasSlots = this.#hasSlots(instance, key, slot)
    const option = untilSucceeded ? 'untilSucceeded' : catchUp !== undefined ? 'catchUp' : undefined
    // A method without a lock may override this one, and need no slots.
    if (option && !hasSlots && isLocked(instance, key))
      throw configurationError(
        `${option} of ${nameOf(instance, key)} needs slots – leave it out, or add a @Cron expression to the method and cronTime to ShedLockModule.forRoot, or set slot.`,
        typeof name === 'string' ? name : undefined,
      )
    // Warns of a method with neither slots nor lockAtLeastFor, unless a method without a lock overrides it.
    const checkedSlot = hasSlots || !isLocked(instance, key) ? () => 1 : undefined
    this.executors
      .get(provider)
      .wrap({ ...configuration, untilSucceeded, slot: checkedSlot }, () => undefined)
    if (catchUp === undefined || !hasSlots || !isLocked(instance, key)) return
    const lastDue = (): number | undefined => {
      if (slot) return parseSlot((slot as () => unknown).call(instance) ?? NaN, 'slot')
      if (slots?.hasScheduler === false)
        this.#logger.warn(
          `catchUp of ${nameOf(instance, key)} does nothing, because the application has no scheduler – import ScheduleModule.forRoot(), or set slot`,
        )
      // Undefined before its @Cron is due for the first time, and if the scheduler does not run it here.
      return slots?.isScheduled(instance, key) ? slots.slotOf(instance, key) : undefined
    }
    const atMost = aDuration(catchUp, 'catchUp')
    const isMissed = async (): Promise<boolean> => {
      const last = lastDue()
      if (last === undefined || time.wall() - last > atMost) return false
      const table = tableOf(this.providers.get(provider))
      const lockName = typeof name === 'function' ? name.call(instance) : name
      const due = slot ? new Date(last) : slots?.dueOf(instance, key)
      if (!table || !due) return true
      return (await table.missed(lockName, { due, atMost, signal: this.#shutdown.signal })) !== undefined
    }
    const run = async (): Promise<void> => {
      if (await isMissed()) await (instance as Record<PropertyKey, () => unknown>)[key]?.()
    }
    const limits = { atMost, signal: this.#shutdown.signal }
    this.#catchUps.push(() => this.#catchUp(nameOf(instance, key), untilAnswered(run, limits)))
  }

  /** Waits for the run to catch up. Never rejects. */
  async #catchUp(name: string, run: Promise<void>): Promise<void> {
    try {
      await run
    } catch (error) {
      // Expected with `onSkip: 'throw'` if an instance ran the method or is running it.
      if (error instanceof LockError && error.code === 'SKIPPED') return
      if (this.#shutdown.signal.aborted && isUnanswered(error)) return
      this.#logger.error(`${name} failed when catching up`, error instanceof Error ? error.stack : error)
    }
  }

  #hasSlots(instance: object, key: PropertyKey, slot: SchedulerLockOptions['slot']): boolean {
    return slot === undefined ? this.executors.slots?.hasSlots(instance, key) === true : slot !== false
  }

  /** Refuses a name that another method has too if both are always due together, because one of them would then never run. */
  #refuseSharedName(instance: object, key: PropertyKey, lock: SchedulerLockOptions): void {
    const { name, provider, wait, slot } = configurationOf(instance, lock)
    const schedule = scheduleOf(instance, key)
    if (typeof name !== 'string' || !schedule || (wait !== undefined && !this.#hasSlots(instance, key, slot)))
      return
    const id = JSON.stringify([provider, name, schedule])
    const other = this.#scheduled.get(id)
    this.#scheduled.set(id, { instance, key })
    // A class that is provided twice is one job, which the lock rightly runs once.
    if (!other || (other.key === key && prototypesOf(other.instance)[0] === prototypesOf(instance)[0])) return
    throw configurationError(
      `${nameOf(other.instance, other.key)} and ${nameOf(instance, key)} are due at the same times and share lock '${name}', so one of them would be skipped – give each a name of its own. A method that subclasses inherit can compute it: name() { return \`…-\${this.tenant}\` }.`,
      name,
    )
  }

  /** @param unlocked the scheduled methods without a lock, each with its decorator */
  #warnOf(unlocked: ReadonlyMap<string, string>): void {
    const { warnOfUnlockedCrons = false } = this.options
    if (warnOfUnlockedCrons === false) return
    const except = typeof warnOfUnlockedCrons === 'object' ? warnOfUnlockedCrons.except : []
    for (const [method, decorator] of [...unlocked].sort())
      if (!except.includes(method))
        this.#logger.warn(
          `${method} has @${decorator} without @SchedulerLock: every instance runs it – add @SchedulerLock, or list the method in warnOfUnlockedCrons.except`,
        )
  }

  #refuseSecondModule(): void {
    const all = [...this.modules.values()].filter(({ providers }) => providers.has(this.constructor))
    if (all.length > 1)
      throw configurationError(
        'ShedLockModule is imported with several configurations – import it once, and add further lock providers to lockProviders.',
      )
  }
}

/** Does nothing for a proxy that throws because its target does not exist yet. */
function unlessUnresolved(instance: object, examine: () => void): void {
  try {
    examine()
  } catch (error) {
    if (!types.isProxy(instance) || error instanceof LockError) throw error
  }
}

/** Returns the names of all methods of an instance's classes. Getters are not called. */
function methodsOf(instance: object): Set<string> {
  const descriptors = prototypesOf(instance).flatMap((each) =>
    Object.entries(Object.getOwnPropertyDescriptors(each)),
  )
  return new Set(descriptors.flatMap(([name, { value }]) => (typeof value === 'function' ? [name] : [])))
}

function nameOf(instance: object, key: PropertyKey): string {
  return `${instance.constructor.name}.${String(key)}`
}
