import { AsyncLocalStorage } from 'node:async_hooks'
import { sharedByEveryCopy } from './copies'
import { configurationError, LockError } from './errors'
import type { HeldLock } from './held-lock'
import type { Acquisition, ActiveLock, Skip, Task, TaskContext, TaskResult } from './lock'
import type { LockProvider } from './lock-provider'

/** One run of a task, as seen by the code inside it. Scopes nest as the runs do. */
export interface Scope {
  /** `undefined` once the run has ended, because code that it left running belongs to the outer scope. */
  lock: HeldLock | undefined
  readonly provider?: LockProvider
  readonly slot?: number | undefined
  outer: Scope | undefined
  /** How many nested runs under the same lock are in progress, at any depth. */
  inner: number
  /** The call of `runNow` that this scope is for; it has no lock. The scopes of the tasks inside hide it. */
  readonly byHand?: CallByHand
  /** Whether a unit test assumes locks inside of this scope, which has no lock itself. */
  readonly isAssumed?: boolean
}

/** A run that has not ended. */
export type OpenScope = Scope & { readonly lock: HeldLock }

/** A call of `runNow`. The first job that it reaches runs without its slot. */
export interface CallByHand {
  /**
   * Whether the call has yet to reach its job. False once the call has ended, because a timer that it left running still sees this
   * object.
   */
  isOpen: boolean
  result?: Promise<TaskResult<unknown>>
}

const state = sharedByEveryCopy('scopes.2', () => ({
  scopes: new AsyncLocalStorage<Scope | undefined>(),
  allAssertsPass: false,
}))
const { scopes } = state

/** Returns the scopes around the calling code whose runs have not ended, the innermost first. */
function openScopes(): OpenScope[] {
  const open: OpenScope[] = []
  for (let scope = scopes.getStore(); scope; scope = scope.outer)
    if (scope.lock) open.push(scope as OpenScope)
  return open
}

/** Returns the open scopes of this provider's lock of this name, the innermost first. */
export function scopesOf(provider: LockProvider, name: string): readonly OpenScope[] {
  return openScopes().filter((scope) => scope.provider === provider && scope.lock.name === name)
}

/**
 * Lends the lock of an enclosing scope to a nested task. Refuses it while it is lent, because nested tasks must not overlap.
 *
 * @param inner how many nested runs are in progress in its scope
 * @param around all scopes of this lock
 * @throws LockError `INVALID_CONFIGURATION` for a slot that the lock was not acquired for, `NOT_LOCKED` or `LOCK_LOST` after its end
 */
export function lendLock(
  lock: HeldLock,
  inner: number,
  around: readonly OpenScope[],
  slot: number | undefined,
): Acquisition | Skip {
  const { name } = lock
  if (slot !== undefined && !around.some((scope) => scope.slot === slot))
    throw configurationError(
      `A task runs inside of another task that holds lock '${name}', so it cannot acquire a slot of its own – call it outside of that task, or leave slot out.`,
      name,
    )
  if (inner > 0 && lock.remaining() > 0) return { reason: 'nested' }
  const lent = lock.lend(() => {
    for (const enclosing of around) enclosing.inner--
  })
  for (const enclosing of around) enclosing.inner++
  return lent
}

/** Calls the work outside of every scope, as if no task and no `runNow` had called it. */
export function outsideOfScopes<T>(work: () => T): T {
  return scopes.run(undefined, work)
}

/** Calls the task inside the scope of the lock, which covers all that the task calls and awaits. */
export async function runInScope<T>(
  lock: HeldLock,
  provider: LockProvider,
  slot: number | undefined,
  task: Task<T>,
  context: TaskContext,
): Promise<T> {
  const scope: Scope = { lock, provider, slot, outer: scopes.getStore(), inner: 0 }
  try {
    return await scopes.run(scope, task, context)
  } finally {
    scope.lock = undefined
    // Unlink scopes that have ended, so that they do not pile up where each task starts the next one.
    while (scope.outer && !scope.outer.lock) scope.outer = scope.outer.outer
  }
}

/** Calls the work inside a scope without a lock: that of a call of `runNow`, or of a unit test that assumes locks. */
export function runWithoutLock<T>(mark: Pick<Scope, 'byHand' | 'isAssumed'>, work: () => T): T {
  return scopes.run({ lock: undefined, outer: scopes.getStore(), inner: 0, ...mark }, work)
}

/** Returns whether a unit test assumes locks here: inside `assumeLocked`, or after `makeAllAssertsPass(true)`. */
export function areLocksAssumed(): boolean {
  for (let scope = scopes.getStore(); scope; scope = scope.outer) if (scope.isAssumed) return true
  return state.allAssertsPass
}

/** Returns the call of `runNow` around the calling code, unless a task is in between. */
export function callByHand(): CallByHand | undefined {
  return scopes.getStore()?.byHand
}

/**
 * Finds the innermost lock that the calling code runs under. Code that outlives its task (a promise that is never awaited, a timer)
 * is no longer under the lock.
 *
 * @returns the lock, or `undefined` if there is none
 */
export function activeLock(): ActiveLock | undefined {
  const [innermost] = openScopes()
  return innermost?.lock
}

/**
 * Asserts that the calling code runs under a lock that is still held: the lock of this name, or the innermost lock.
 *
 * @param name ignored if it is not a string, so that `promise.then(assertLocked)` works
 * @throws LockError `NOT_LOCKED` otherwise
 */
export function assertLocked(name?: unknown): void {
  if (state.allAssertsPass) return
  const lockName = typeof name === 'string' ? name : undefined
  const locks = openScopes().map(({ lock }) => lock)
  const candidates =
    lockName === undefined ? locks.slice(0, 1) : locks.filter((lock) => lock.name === lockName)
  if (candidates.some((lock) => lock.remaining() > 0)) return
  throw new LockError(
    'NOT_LOCKED',
    `This code does not run under ${lockName === undefined ? 'a lock that is still held' : `lock '${lockName}', or that lock is no longer held`} – run it through executeWithLock, wrap or @SchedulerLock.`,
    { lockName },
  )
}

/** Returns whether assertions about locks pass without a lock. */
export function doAllAssertsPass(): boolean {
  return state.allAssertsPass
}

/**
 * Makes every `assertLocked()` of this process pass (`true`), or check again (`false`); so does every `guard` without a lock in a
 * SQL table, and a method with `@SchedulerLock` runs on an object that Nest did not create. For a whole test file:
 *
 * ```ts
 * beforeAll(() => makeAllAssertsPass(true))
 * afterAll(() => makeAllAssertsPass(false))
 * ```
 */
export function makeAllAssertsPass(pass: boolean): void {
  state.allAssertsPass = pass
}
