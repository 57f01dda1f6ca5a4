import type { LockProvider } from '../core/internal'

type Awaitable<T> = T | PromiseLike<T>

/** What the suite needs to test a lock provider, whatever its storage is. */
export interface LockProviderEnvironment {
  /**
   * Creates a provider as a separate instance of the app would: it shares the storage with the other providers and nothing else. If
   * the storage is inside the provider object, return the same object each time.
   */
  createProvider(): Awaitable<LockProvider>
  /** Returns whether the lock is held, by the storage's own clock. */
  isHeld(name: string): Awaitable<boolean>
}

/** The tests of one topic, by title. */
export type Cases<Environment = LockProviderEnvironment> = Readonly<
  Record<string, (environment: Environment) => Promise<void>>
>
