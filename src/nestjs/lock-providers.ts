import { InMemoryLockProvider, LockError, type LockProvider } from '../core'
import type { Modules } from './application-instances'
import { LateLockProvider } from './late-lock-provider'
import { ormClient } from './orm-client'
import type { ShedLockModuleOptions } from './shed-lock-module-options'

/** The lock providers of an application by their names; the one for all that do not name one has none. */
export type LockProviders = ReadonlyMap<string | undefined, LockProvider>

export function lockProvidersFor(
  { lockProvider, lockProviders = {}, client }: ShedLockModuleOptions,
  modules: Modules,
): LockProviders {
  const first =
    typeof lockProvider === 'function'
      ? new LateLockProvider(() => lockProvider(ormClient(modules, client) as never))
      : lockProvider
  return new Map([[undefined, first], ...Object.entries(lockProviders)])
}

/**
 * Where the locks are, in words for the log.
 *
 * @throws LockError `INVALID_CONFIGURATION` when a client is not to be found, or when locks are in memory in production
 */
export function placesOf(providers: LockProviders, allowInMemory = false): string {
  const places = Array.from(providers, ([name, given]) => {
    const provider = given instanceof LateLockProvider ? given.made : given
    const inMemory = provider instanceof InMemoryLockProvider
    if (inMemory && !allowInMemory && process.env['NODE_ENV'] === 'production')
      throw new LockError(
        'INVALID_CONFIGURATION',
        'ShedLockModule has its locks in memory, and NODE_ENV is production: each instance would run every job – use typeOrmLockProvider or prismaLockProvider, or set allowInMemory for an application of a single instance.',
      )
    const place = provider.description ?? provider.constructor.name
    return name === undefined ? place : `${place} for '${name}'`
  })
  return places.join('; ')
}
