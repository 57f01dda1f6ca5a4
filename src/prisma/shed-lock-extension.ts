import { checkOptions, LockingTaskExecutor, type LockingTaskExecutorOptions } from '../core'
import { SQL_LOCK_PROVIDER_OPTIONS, type SqlLockProvider } from '../sql'
import type { PrismaClientLike } from './prisma-client-like'
import { prismaLockProvider, type PrismaLockProviderOptions } from './prisma-lock-provider'

/** Options of `shedlock()`: those of the lock provider and of the executor. */
export interface ShedLockExtensionOptions extends PrismaLockProviderOptions, LockingTaskExecutorOptions {}

const OPTIONS: readonly string[] = [
  'defaultLockAtMostFor',
  'defaultLockAtLeastFor',
  'listeners',
  'dialect',
  ...SQL_LOCK_PROVIDER_OPTIONS,
] satisfies (keyof ShedLockExtensionOptions)[]

/** What `$extends(shedlock())` adds to the client. */
export interface ShedLockClient {
  /** Runs the task if the lock can be acquired, else skips it: see `LockingTaskExecutor.executeWithLock`. */
  readonly $executeWithLock: LockingTaskExecutor['executeWithLock']
  /** The task as a function that runs under the lock each time it is called: see `LockingTaskExecutor.wrap`. */
  readonly $wrapWithLock: LockingTaskExecutor['wrap']
  /** The executor behind these two, to `shutdown()` before you disconnect. */
  readonly $lockingTaskExecutor: LockingTaskExecutor
  /** For locks by hand, and for integrations that want a `LockProvider`. */
  readonly $lockProvider: SqlLockProvider
}

// Prisma's types say nothing like this; an interface or `object` would not fit their index signatures.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/consistent-type-definitions
type Nothing = {}

/** How Prisma's types write down what an extension adds. */
export interface ShedLockExtension {
  $extends: {
    extArgs: {
      result: Nothing
      model: Nothing
      query: Nothing
      client: { [Member in keyof ShedLockClient]: () => ShedLockClient[Member] }
    }
  }
}

/**
 * A Prisma client extension: `const prisma = new PrismaClient({ adapter }).$extends(shedlock({ defaultLockAtMostFor: '10m' }))`.
 * Takes the options of `prismaLockProvider` and of `LockingTaskExecutor`, and may stand before or behind other extensions.
 *
 * `$extends` throws LockError `INVALID_CLIENT` and `INVALID_CONFIGURATION`, as those two do.
 */
export function shedlock(
  options: ShedLockExtensionOptions = {},
): (client: PrismaClientLike) => ShedLockExtension {
  const { defaultLockAtMostFor, defaultLockAtLeastFor, listeners, ...providerOptions } = options
  const executorOptions = { defaultLockAtMostFor, defaultLockAtLeastFor, listeners }
  return (client) => {
    checkOptions(options, OPTIONS, 'options of shedlock()')
    const provider = prismaLockProvider(client, providerOptions)
    const executor = new LockingTaskExecutor(provider, executorOptions)
    const members: ShedLockClient = {
      $executeWithLock: executor.executeWithLock.bind(executor),
      $wrapWithLock: executor.wrap.bind(executor),
      $lockingTaskExecutor: executor,
      $lockProvider: provider,
    }
    return (client as unknown as ExtendableClient).$extends({ name: 'shedlock', client: members })
  }
}

interface ExtendableClient {
  $extends(extension: { name: string; client: ShedLockClient }): ShedLockExtension
}
