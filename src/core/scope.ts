import { AsyncLocalStorage } from 'node:async_hooks'
import { invalid, LockError, sharedByEveryCopy } from './errors'
import type { ActiveLock, Duration, LockProvider } from './lock'
import type { TaskConfiguration, TaskResult } from './task-configuration'
import type { TaskLock } from './task-lock'

/** One run of a task, as seen by the code inside. Scopes are nested as the runs are. */
export interface Scope {
  /** `undefined` once the run has ended: what it left running belongs to the scope outside. */
  lock: TaskLock | undefined
  readonly provider: LockProvider
  outer: Scope | undefined
  /** How many runs under the same lock go on inside, at any depth. */
  inner: number
}

const state = sharedByEveryCopy('scopes.1', () => ({
  scopes: new AsyncLocalStorage<Scope>(),
  allAssertsPass: false,
}))
const { scopes } = state

/** The scopes around the calling code that have not ended, the innermost first. */
function* openScopes(): Generator<Scope & { readonly lock: TaskLock }> {
  for (let scope = opened(scopes.getStore()); scope; scope = opened(scope.outer))
    yield scope as Scope & { readonly lock: TaskLock }
}

/** The scope itself, or the next one outside that has not ended. Drops those in between, which would pile up otherwise. */
function opened(scope: Scope | undefined): Scope | undefined {
  let open = scope
  while (open && !open.lock) open = open.outer
  for (let ended = scope; ended && ended !== open;) {
    const next: Scope | undefined = ended.outer
    ended.outer = open
    ended = next
  }
  return open
}

/** The innermost scope in which this provider's lock of this name is held. */
export function enclosingScope(provider: LockProvider, name: string): Scope | undefined {
  for (const scope of openScopes())
    if (scope.provider === provider && scope.lock.name === name && scope.lock.remaining() > 0) return scope
  return undefined
}

/** Calls the task so that all it calls and awaits sees the lock. */
export async function runInScope<T>(
  lock: TaskLock,
  provider: LockProvider,
  task: () => T | PromiseLike<T>,
): Promise<T> {
  const around = [...openScopes()].filter((scope) => scope.lock === lock)
  const scope: Scope = { lock, provider, outer: opened(scopes.getStore()), inner: 0 }
  for (const each of around) each.inner++
  try {
    return await scopes.run(scope, task)
  } finally {
    scope.lock = undefined
    for (const each of around) each.inner--
  }
}

/**
 * Finds the innermost lock that the calling code runs under. Code that outlives its task – a promise that nobody awaited, a
 * timer – is no longer under the lock.
 *
 * @returns the lock, or `undefined` when the calling code runs under none
 */
export function activeLock(): ActiveLock | undefined {
  const [innermost] = openScopes()
  return innermost?.lock
}

/**
 * Makes sure that the calling code runs under a lock, and that the innermost lock is still held.
 *
 * @throws LockError `NOT_LOCKED` otherwise
 */
export function assertLocked(): void
/**
 * Makes sure that the calling code runs under the lock of this name, innermost or not, and that it is still held.
 *
 * @throws LockError `NOT_LOCKED` otherwise
 */
// Two signatures, so that it may be passed to `then`, which calls it with a value.
// eslint-disable-next-line @typescript-eslint/unified-signatures
export function assertLocked(name: string): void
export function assertLocked(name?: string): void {
  if (state.allAssertsPass) return
  // Called by something like `then`, it may get what is no name.
  const lockName = typeof name === 'string' ? name : undefined
  const locks = [...openScopes()].map(({ lock }) => lock)
  const wanted = lockName === undefined ? locks.slice(0, 1) : locks.filter((lock) => lock.name === lockName)
  if (wanted.some((lock) => lock.remaining() > 0)) return
  throw new LockError(
    'NOT_LOCKED',
    `This code does not run under ${lockName === undefined ? 'a lock that is still held' : `lock '${lockName}', or that lock is no longer held`} – run it through executeWithLock, wrap or @SchedulerLock.`,
    { lockName },
  )
}

/**
 * Lets every `assertLocked()` of this process pass, or makes them check again: for a whole test file.
 *
 * @param pass `true`: every assertion passes; `false`: it checks again
 *
 * ```ts
 * beforeAll(() => makeAllAssertsPass(true))
 * afterAll(() => makeAllAssertsPass(false))
 * ```
 */
export function makeAllAssertsPass(pass: boolean): void {
  state.allAssertsPass = pass
}

/**
 * Makes the lease of the innermost active lock last at least `lockAtMostFor` from now; never shortens it.
 *
 * @param lockAtLeastFor counts from the acquisition. Default: unchanged
 * @throws LockError `NOT_LOCKED` outside a locked task; `LOCK_LOST` when the lease was over already; `INVALID_CONFIGURATION` for a
 *   wrong duration; another code when the database did not answer: the lease is then as before
 */
export async function extendActiveLock(lockAtMostFor: Duration, lockAtLeastFor?: Duration): Promise<void> {
  const lock = activeLock()
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock to extend – call extendActiveLock inside a locked task.',
    )
  }
  await lock.extend(lockAtMostFor, lockAtLeastFor)
}

/** A call by hand. The first task under a lock that it reaches is its job. */
interface CallByHand {
  found: boolean
  result?: Promise<TaskResult<unknown>>
}

const calls = sharedByEveryCopy('calls-by-hand.1', () => new AsyncLocalStorage<CallByHand>())

/** The value of a job that is run by hand. A wrapped function returns a `TaskResult`: then it is the value in that. */
type ValueOf<T> = [T] extends [TaskResult<infer Value>] ? Value : T

/**
 * Runs a job by hand: under its lock but without its slot, so that it runs even if the last slot has run already.
 *
 * ```ts
 * const result = await runNow(() => reports.nightly())
 * if (!result.executed) console.log(`not run: ${result.reason}`) // held: it is running now, here or elsewhere
 * ```
 *
 * @param call calls one job: a wrapped function, a method with `@SchedulerLock`, or something that calls one of these, such as a
 *   scheduler's own `trigger()`. What the job itself calls keeps its slots.
 * @returns `{ executed: true, value }`, or `{ executed: false, reason }`, as `executeWithLock` does
 * @throws what the job throws, even if it has `onError`; LockError `NOT_ACQUIRED` or `SHUTDOWN` if it is skipped and has
 *   `onNotAcquired: 'throw'`; LockError `INVALID_CONFIGURATION` when the call reached no job
 */
export async function runNow<T>(call: () => T): Promise<TaskResult<ValueOf<Awaited<T>>>> {
  const byHand: CallByHand = { found: false }
  await calls.run(byHand, call)
  if (byHand.result) return byHand.result as Promise<TaskResult<ValueOf<Awaited<T>>>>
  throw invalid(
    'runNow found no job to run – pass a function that calls a wrapped function, or a method with @SchedulerLock.',
  )
}

/** Executes the task. If it is the job that somebody runs by hand, it runs without its slot, and `runNow` gets its result. */
export function executeByHand<T>(
  configuration: TaskConfiguration,
  execute: (configuration: TaskConfiguration) => Promise<TaskResult<T>>,
): Promise<TaskResult<T>> {
  const byHand = calls.getStore()
  if (!byHand || byHand.found) return execute(configuration)
  byHand.found = true
  const result = execute({ ...configuration, slot: undefined })
  byHand.result = result
  return result
}
