import { heldLockOf, type LockProvider } from '../core'
import { lockNameOf } from './lock-name'
import { isOver, StoredLock, type HeldLock } from './stored-lock'

/** What `acquire` resolves to. `fencingToken` is greater than every token that this key had before. */
export type StoreAcquireResult =
  { readonly acquired: true; readonly fencingToken: number } | { readonly acquired: false }

/** What this library uses of `LocksStorage` of `@nestjs/locks`. */
export interface LocksStorageLike {
  /** Makes it the store of the application. */
  registerSource(store: ShedLockStore): unknown
}

/** Shared by all stores of a provider, because whoever has the owner may renew and release. */
const storedLocks = new WeakMap<LockProvider, Map<string, StoredLock>>()

/**
 * A `LockStore` for `@nestjs/locks` over any lock provider: its locks are rows of the lock table, on the database's clock.
 * `ShedLockModule` makes one with its option `locksStorage`.
 *
 * A key that is no lock name – 1 to 64 characters, no control characters, no blank at either end – is kept under its
 * first 31 characters and 128 bits of its SHA-256.
 */
export class ShedLockStore {
  readonly #provider: LockProvider
  readonly #locks: Map<string, StoredLock>

  /**
   * @param provider such as `typeOrmLockProvider(dataSource)`; one with fencing tokens
   * @param storage the injected `LocksStorage`, which the store registers itself with. Default: none, as in a test
   */
  constructor(provider: LockProvider, storage?: LocksStorageLike) {
    this.#provider = provider
    this.#locks = storedLocks.get(provider) ?? new Map<string, StoredLock>()
    storedLocks.set(provider, this.#locks)
    storage?.registerSource(this)
  }

  /**
   * Asks for the key once.
   *
   * @param owner another one for each acquisition
   * @param ttl milliseconds after which the lock expires, on the database's clock
   * @throws LockError when it is not known whether the key is free; whatever was acquired is released again
   */
  async acquire(key: string, owner: string, ttl: number): Promise<StoreAcquireResult> {
    const lock = await this.#provider.lock({ name: lockNameOf(key), lockAtMostFor: ttl })
    if (!lock) return { acquired: false }
    const held = heldLockOf(lock)
    const fencingToken = await tokenOf(held)
    if (fencingToken === undefined) return { acquired: false }
    this.#keep(identity(key, owner), held)
    return { acquired: true, fencingToken }
  }

  /**
   * Moves the expiry to `ttl` milliseconds from now. To move it back, this process releases the lock then: if it ends
   * before, the lock lasts as long as it did.
   *
   * @returns whether this owner still held the lock
   * @throws LockError when the database did not answer; the lock then lasts as long as it did
   */
  async renew(key: string, owner: string, ttl: number): Promise<boolean> {
    return (await this.#locks.get(identity(key, owner))?.renew(ttl)) ?? false
  }

  /**
   * Frees the key, whose next token is greater all the same.
   *
   * @returns whether this owner still held the lock
   * @throws LockError when the database did not answer; it is tried again in the background, and the lock expires anyway
   */
  async release(key: string, owner: string): Promise<boolean> {
    return (await this.#locks.get(identity(key, owner))?.release()) ?? false
  }

  #keep(id: string, held: HeldLock): void {
    if (held.remaining() === 0) return
    const stored = new StoredLock(held)
    const forget = (): void => {
      if (this.#locks.get(id) === stored) this.#locks.delete(id)
    }
    held.observe({ onLost: forget, onEnded: forget })
    this.#locks.set(id, stored)
  }
}

/** @returns `undefined` when the lock was over before its token was read */
async function tokenOf(held: HeldLock): Promise<number | undefined> {
  try {
    return await held.fencingToken()
  } catch (error) {
    await held.end().catch(() => undefined)
    if (isOver(error)) return undefined
    throw error
  }
}

function identity(key: string, owner: string): string {
  return JSON.stringify([key, owner])
}
