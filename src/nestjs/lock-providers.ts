import type { LoggerService } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import {
  type Duration,
  InMemoryLockProvider,
  configurationError,
  FOR_MOCKS,
  isUnanswered,
  LockProvider,
  untilAnswered,
} from '../core/internal'
import type { ShedLockModuleOptions } from './shed-lock-module-options'

/** The modules of one Nest application. */
export type Modules = Pick<ModulesContainer, 'values'>

/** The lock providers of an application by name. The key `undefined` has the default one, the module's `lockProvider`. */
export type LockProviders = ReadonlyMap<string | undefined, LockProvider>

/** Advice if @nestjs/core is loaded twice, for which there are two causes. */
export const ONE_CORE =
  'check whether `npm ls @nestjs/core` lists several versions or folders; if not, start compiled JavaScript, because some TypeScript loaders load it twice'

/**
 * The providers and controllers of the application, and their tokens. Of a static one there is one instance for the whole application,
 * rather than one for each request.
 */
export function* instancesOf(modules: Modules) {
  for (const { providers, controllers } of modules.values()) {
    for (const [token, wrapper] of [...providers, ...controllers]) {
      const instance: unknown = wrapper.instance
      if (typeof instance === 'object' && instance !== null)
        yield { token, instance, isStatic: wrapper.isDependencyTreeStatic() }
    }
  }
}

/** Creates its lock provider on first use, because the client that it needs does not exist when the module is imported. */
class LazyLockProvider extends LockProvider {
  #created: LockProvider | undefined

  constructor(private readonly create: () => LockProvider) {
    super()
  }

  get created(): LockProvider {
    return (this.#created ??= this.create())
  }

  async acquire(...all: Parameters<LockProvider['acquire']>): ReturnType<LockProvider['acquire']> {
    return this.created.acquire(...all)
  }

  override forCaller(): ReturnType<NonNullable<LockProvider['forCaller']>> {
    return this.created.forCaller?.() ?? this.created
  }

  override async drain(timeout?: Duration): Promise<void> {
    await this.#created?.drain?.(timeout)
  }
}

export function lockProvidersFor(options: ShedLockModuleOptions, modules: Modules): LockProviders {
  const { lockProvider, lockProviders = {} } = options
  // Only its author knows the class of the client that is found when the application starts.
  const create = lockProvider as (client: object) => LockProvider
  const first =
    typeof lockProvider === 'function' ? new LazyLockProvider(() => create(ormClient(modules))) : lockProvider
  return new Map([[undefined, first], ...Object.entries(lockProviders)])
}

const createdOf = (provider: LockProvider): LockProvider =>
  provider instanceof LazyLockProvider ? provider.created : provider

/** What the module uses of a lock provider that keeps its locks in a SQL table. */
interface Table {
  check(): Promise<readonly { readonly severity: string; readonly message: string }[]>
  missed(name: string, options: object): Promise<Date | undefined>
}

export function tableOf(provider: LockProvider | undefined): Table | undefined {
  return provider && (createdOf(provider) as LockProvider & { readonly table?: Table }).table
}

/** How long to check a table whose database does not answer, in milliseconds. */
const CHECK_AT_MOST = 600_000

/**
 * Logs what is wrong with the lock tables, so that locks fail. Checks again while the database does not answer. Never rejects.
 *
 * @returns whether all of them are right
 */
export async function checkTables(
  providers: LockProviders,
  logger: Pick<LoggerService, 'error'>,
  signal: AbortSignal,
): Promise<boolean> {
  const checks = Array.from(providers, async ([name, registered]) => {
    const whose = name === undefined ? '' : `Lock provider '${name}': `
    const logged = new Set<string>()
    const log = (message: string): void => {
      // After a shutdown, errors are those of a client that was closed.
      if (!signal.aborted && !logged.has(message)) logger.error(whose + message)
      logged.add(message)
    }
    const check = async () => (await tableOf(registered)?.check()) ?? []
    const logUnanswered = (error: unknown): boolean => {
      log(String(error instanceof Error ? error.message : error))
      return isUnanswered(error)
    }
    const limits = { atMost: CHECK_AT_MOST, signal }
    const findings = await untilAnswered(check, limits, logUnanswered).catch(() => [])
    for (const { severity, message } of findings) if (severity === 'error') log(message)
    return logged.size === 0
  })
  return !(await Promise.all(checks)).includes(false) && !signal.aborted
}

/**
 * Describes where the locks are kept, for the log.
 *
 * @throws LockError `INVALID_CONFIGURATION` if there is no ORM client, or if locks are in memory in production
 */
export function placesOf(providers: LockProviders, allowInMemory = false): string {
  const places = Array.from(providers, ([name, registered]) => {
    const provider = createdOf(registered)
    const inMemory = provider instanceof InMemoryLockProvider
    if (inMemory && !allowInMemory && process.env['NODE_ENV'] === 'production')
      throw configurationError(
        'ShedLockModule keeps its locks in memory, and NODE_ENV is production, so every instance would run every job – use typeOrmLockProvider or prismaLockProvider, or set allowInMemory for an application with a single instance.',
      )
    const place = provider.description ?? provider.constructor.name
    return name === undefined ? place : `${place} for '${name}'`
  })
  return places.join('; ')
}

/**
 * Finds the application's DataSource or PrismaClient. If there are several, it returns the only one whose token is a class, such as
 * TypeORM's default DataSource: named DataSources have strings as tokens. A class that several modules list as their own provider has
 * an instance in each of them, and then the first one is returned, because the application uses all of them as one client.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function ormClient(modules: Modules): object {
  if ([...modules.values()].length === 0)
    throw configurationError(
      `ShedLockModule cannot find the providers of the application, because @nestjs/core is loaded twice – create the lock provider in forRootAsync, or ${ONE_CORE}.`,
    )
  const found = [...instancesOf(modules)].filter(
    ({ isStatic, instance }) => isStatic && isOrmClient(instance),
  )
  const ofClasses = found.filter(({ token }) => typeof token === 'function')
  for (const candidates of [found, ofClasses]) {
    const [client, ...more] = new Set(candidates.map(({ instance }) => instance))
    if (client && more.length === 0) return client
  }
  const [first, ...others] = ofClasses
  if (first && others.every(({ token }) => token === first.token)) return first.instance
  const names = [
    ...new Set(found.map(({ token }) => (typeof token === 'function' ? token.name : String(token)))),
  ]
  throw configurationError(
    names.length === 0
      ? `ShedLockModule finds no DataSource and no PrismaClient in the application – import TypeOrmModule.forRoot(…) or the module of your PrismaService, or pass a lock provider as lockProvider. If a service has its client in a property, inject the service in forRootAsync, and return { lockProvider: prismaLockProvider(service.client) }. ${FOR_MOCKS}`
      : `ShedLockModule finds several clients: ${names.join(', ')} – use forRootAsync, and inject the client that has the lock table.`,
  )
}

function isOrmClient(instance: object): boolean {
  try {
    const { isInitialized, createQueryRunner, $connect, $executeRawUnsafe } = instance as Record<
      string,
      unknown
    >
    return isInitialized !== undefined
      ? typeof createQueryRunner === 'function'
      : typeof $connect === 'function' && typeof $executeRawUnsafe === 'function'
  } catch {
    // The instance may be a proxy that throws because its target does not exist yet.
    return false
  }
}
