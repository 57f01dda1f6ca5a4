import { types } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common'
import { MetadataScanner } from '@nestjs/core'
import {
  aDuration,
  parseShutdown,
  parseSlot,
  configurationError,
  Lease,
  isUnanswered,
  LockError,
  time,
  untilAnswered,
} from '../core/internal'
import { scheduleOf, schedulerOf, type CronSlots } from './cron-slot'
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
import { configurationOf, lockOf, prototypesOf } from './scheduler-lock.decorator'
import type { SchedulerLockOptions } from './scheduler-lock-options'
import { checkModuleOptions, executorsFor, type ShedLockModuleOptions } from './shed-lock-module-options'

/**
 * `createApplicationContext` starts the application before it returns, so `enableShutdownHooks`, and some migrations, come later; and most
 * tests have closed it by then. In milliseconds.
 */
const CHECK_AFTER = 5_000

/** A method with a lock, of one instance of its class. */
type LockedMethod = ReturnType<typeof lockedMethod>

/** Checks the locked methods when the application starts, and ends executors and providers when it shuts down. */
export class ShedLockLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly providers: LockProviders
  readonly #logger = new Logger('ShedLock')
  readonly #scanner = new MetadataScanner()
  readonly #catchUps: (() => Promise<void>)[] = []
  /** The scheduled methods by what no two of them may share. */
  readonly #scheduled = new Map<string, LockedMethod>()
  #places = ''
  #ended: Promise<void> | undefined
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

  /**
   * Refuses a second module, then gives the executors to all instances. Runs before all other hooks, in which locked methods may
   * already be called.
   */
  bind(): void {
    const all = [...this.modules.values()].filter(({ providers }) => providers.has(this.constructor))
    if (all.length > 1)
      throw configurationError(
        'ShedLockModule is imported from several calls of forRoot – call it once, in the root module, and add further lock providers to lockProviders.',
      )
    for (const { instance } of instancesOf(this.modules))
      unlessUnresolved(instance, () => {
        bindExecutors(instance, this.executors)
      })
  }

  /** Runs when all instances exist but no scheduler has started: `@nestjs/schedule` starts in `onApplicationBootstrap`. */
  onModuleInit(): void {
    this.#places = placesOf(this.providers, this.options.allowInMemory)
    if ([...this.modules.values()].length === 0)
      this.#logger.warn(
        `@nestjs/core is loaded twice, so locked methods are not checked, and a client that ends in onModuleDestroy ends before running jobs – ${ONE_CORE}`,
      )
    const unlocked = new Map<string, string>()
    for (const { instance, isStatic } of instancesOf(this.modules))
      unlessUnresolved(instance, () => {
        if (!types.isProxy(instance)) this.executors.slots?.findScheduler(instance)
        for (const key of this.#scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object | null)) {
          const lock = lockOf(instance, key)
          const decorator = schedulerOf(instance, key)
          if (lock) this.#check(lockedMethod(instance, key, lock, this.executors.slots), isStatic)
          else if (decorator) unlocked.set(nameOf(instance, key), decorator)
        }
      })
    this.#warnOf(unlocked)
  }

  /** Starts the runs to catch up, without awaiting them: they must not delay the application's start. */
  onApplicationBootstrap(): void {
    for (const catchUp of this.#catchUps) void catchUp()
    time.after(CHECK_AFTER, () => void this.#checkSurroundings(), false)
  }

  async #checkSurroundings(): Promise<void> {
    if (this.#shutdown.signal.aborted) return
    if (isMainThread && process.listenerCount('SIGTERM') === 0)
      this.#logger.warn(
        'Nothing handles SIGTERM, so a deploy interrupts running jobs and leaves their locks held – call app.enableShutdownHooks()',
      )
    // Instances with other time-zone data may compute other slots.
    const zones = `Time-zone data: ${process.versions['tz'] ?? 'of the system'}`
    if (await checkTables(this.providers, this.#logger, this.#shutdown.signal))
      this.#logger.log(`Locks go to ${this.#places}. ${zones}`)
  }

  /**
   * Ends executors and providers once, however often the application is closed. Called before the application's own hooks, because any of
   * them may end the client; and by Nest, in case @nestjs/core is loaded twice, because nothing then orders the calls of `onModuleDestroy`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return (this.#ended ??= this.#end())
  }

  async #end(): Promise<void> {
    this.executors.areShutDown = true
    this.#shutdown.abort()
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

  /** Checks a method's configuration with the defaults of the module, and schedules its run to catch up. */
  #check(method: LockedMethod, isStatic: boolean): void {
    const { configuration, cron, title, hasSlots, run } = method
    const { provider, slot: ownSlot, catchUp, untilSucceeded, ...others } = configuration
    const { name } = others
    const fixedName = typeof name === 'string' ? name : undefined
    const option = untilSucceeded ? 'untilSucceeded' : catchUp !== undefined ? 'catchUp' : undefined
    if (option && !hasSlots)
      throw configurationError(
        `${option} of ${title} needs slots – leave it out, or add a @Cron expression to the method and cronTime to ShedLockModule.forRoot, or set slot.`,
        fixedName,
      )
    // Warns of a method with neither slots nor lockAtLeastFor.
    const slot = hasSlots ? () => 1 : undefined
    this.executors.get(provider).wrap({ ...others, untilSucceeded, slot }, () => undefined)
    if (isStatic && fixedName !== undefined) {
      this.#refuseSharedName(method, fixedName)
      this.executors.jobs[fixedName] = {
        due: ownSlot ? undefined : cron && this.executors.slots?.dueOf(cron),
        run,
      }
    }
    if (catchUp === undefined) return
    const limits = { atMost: aDuration(catchUp, 'catchUp'), signal: this.#shutdown.signal }
    this.#catchUps.push(async () => {
      try {
        await untilAnswered(async () => (await this.#isMissed(method, limits)) && run(), limits)
      } catch (error) {
        // Expected with `onSkip: 'throw'` if an instance ran the method or is running it.
        if (error instanceof LockError && error.code === 'SKIPPED') return
        if (this.#shutdown.signal.aborted && isUnanswered(error)) return
        this.#logger.error(`${title} failed when catching up`, error instanceof Error ? error.stack : error)
      }
    })
  }

  /** Whether no instance ran the method for the time at which it was last due, as far as the lock provider knows. */
  async #isMissed(
    { instance, key, configuration: { name, provider, slot }, cron, title }: LockedMethod,
    limits: { readonly atMost: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { slots } = this.executors
    if (!slot && slots?.hasScheduler === false)
      this.#logger.warn(
        `catchUp of ${title} does nothing, because the application has no scheduler – import ScheduleModule.forRoot(), or set slot`,
      )
    // Undefined before its @Cron is due for the first time, and if the scheduler does not run it here.
    const last = slot
      ? parseSlot((slot as () => unknown).call(instance) ?? NaN, 'slot')
      : cron && slots?.isScheduled(cron) && slots.slotOf(instance, key)
    if (!last || time.wall() - last > limits.atMost) return false
    const table = tableOf(this.providers.get(provider))
    const due = slot ? new Date(last) : cron && slots?.dueOf(cron)
    if (!table || !due) return true
    const lockName = typeof name === 'function' ? name.call(instance) : name
    return (await table.missed(lockName, { due, ...limits })) !== undefined
  }

  /** Refuses a name that another method has too if both are always due together, because one of them would then never run. */
  #refuseSharedName(method: LockedMethod, name: string): void {
    const { instance, key, configuration, title, hasSlots } = method
    const { provider, wait } = configuration
    const schedule = scheduleOf(instance, key)
    if (!schedule || (wait !== undefined && !hasSlots)) return
    const id = JSON.stringify([provider, name, schedule])
    const other = this.#scheduled.get(id)
    this.#scheduled.set(id, method)
    // A class that is provided twice is one job, which the lock rightly runs once.
    if (!other || (other.key === key && prototypesOf(other.instance)[0] === prototypesOf(instance)[0])) return
    throw configurationError(
      `${other.title} and ${title} are due at the same times and share lock '${name}', so one of them would be skipped – give each a name of its own. A method that subclasses inherit can compute it: name() { return \`…-\${this.tenant}\` }.`,
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
}

/** @param slots the slots of methods with `@Cron`, if the module has `cronTime` */
function lockedMethod(instance: object, key: PropertyKey, lock: SchedulerLockOptions, slots?: CronSlots) {
  const configuration = configurationOf(instance, lock)
  const { slot } = configuration
  const cron = slots?.cronOf(instance, key)
  return {
    ...{ instance, key, configuration, cron },
    /** For messages. */
    title: nameOf(instance, key),
    hasSlots: slot === undefined ? cron !== undefined : slot !== false,
    run: () => (instance as Record<PropertyKey, () => unknown>)[key]?.(),
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

function nameOf(instance: object, key: PropertyKey): string {
  return `${instance.constructor.name}.${String(key)}`
}
