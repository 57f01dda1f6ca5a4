import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  parseLockConfiguration,
  LockError,
  type Acquisition,
  type LockConfiguration,
  type LockProvider,
  type Refusal,
} from '../core/internal'

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

export type Outcome = Parameters<Acquisition['unlock']>[0]

/** A configuration with a unique name, and a lease longer than any test. */
export function newConfiguration(rest: Partial<LockConfiguration> = {}): LockConfiguration {
  return { name: randomUUID(), lockAtMostFor: '5m', ...rest }
}

/** Creates two providers, as two instances of the app have them, and a configuration with a unique name. */
export async function prepare(environment: LockProviderEnvironment, rest?: Partial<LockConfiguration>) {
  return {
    provider: await environment.createProvider(),
    other: await environment.createProvider(),
    configuration: newConfiguration(rest),
  }
}

/**
 * Makes one attempt. The cases call the storage directly, because a `Lock` refuses by its own clock whatever comes late, and the
 * storage would not be asked.
 */
async function attempt(
  provider: LockProvider,
  configuration: LockConfiguration,
): Promise<Acquisition | Refusal> {
  return provider.acquire(parseLockConfiguration(configuration).configuration)
}

export async function acquire(
  provider: LockProvider,
  configuration: LockConfiguration,
): Promise<Acquisition> {
  const answer = await attempt(provider, configuration)
  if ('reason' in answer)
    assert.fail(`lock '${configuration.name}' should be free, but was refused as ${answer.reason}`)
  return answer
}

/** Polls until the lock is acquired, as another instance of the app does. */
export async function acquireWhenFree(
  provider: LockProvider,
  configuration: LockConfiguration,
): Promise<Acquisition> {
  return until(async () => {
    const answer = await attempt(provider, configuration)
    return 'reason' in answer ? false : answer
  }, `lock '${configuration.name}' is acquired`)
}

/**
 * Acquires a lock for two seconds and takes a step with it. A busy machine may be too slow for that, so it retries with a longer lease
 * if the lease ended before the answer.
 *
 * @param step resolves to `undefined` if the lease was over
 * @returns also how long the first lease was, in milliseconds
 */
export async function acquireBriefly<T>(
  provider: LockProvider,
  configuration: LockConfiguration,
  step: (lock: Acquisition, first: number) => Promise<T | undefined>,
): Promise<{ lock: Acquisition; answer: T; first: number }> {
  for (let first = 2_000; ; first *= 2) {
    const lock = await acquireWhenFree(provider, { ...configuration, lockAtMostFor: first })
    const answer = await unlessOver(lock, step(lock, first))
    if (answer !== undefined) return { lock, answer, first }
    assert.equal(lock.lease.remaining(), 0, 'the step was refused, although the lock was held')
    // The step may have extended the lock, although its answer came too late.
    await lock.unlock(undefined)
  }
}

/** @returns what a step with the lock resolves to; `undefined` if it failed, but the lease was over */
export async function unlessOver<T>({ lease }: Acquisition, step: Promise<T>): Promise<T | undefined> {
  try {
    return await step
  } catch (error) {
    if (lease.remaining() > 0) throw error
    return undefined
  }
}

export async function expectRefused(
  provider: LockProvider,
  configuration: LockConfiguration,
  expected: Refusal['reason'] = 'held',
): Promise<void> {
  const answer = await attempt(provider, configuration)
  assert(
    'reason' in answer,
    `lock '${configuration.name}' should be refused as ${expected}, but was acquired`,
  )
  assert.equal(answer.reason, expected)
}

/** Expects that an extension or a token is refused: it resolves to `undefined`, or rejects if the storage cannot tell. */
export async function expectLost(late: Promise<unknown> | undefined): Promise<void> {
  const answer = await late?.catch((error: unknown) => {
    assert(error instanceof LockError, `expected undefined or a LockError, not ${String(error)}`)
  })
  assert.equal(answer, undefined, 'a request is granted although the lock is lost')
}

export async function expectHeld(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), true, `lock '${name}' should be held`)
}

export async function expectFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  assert.equal(await environment.isHeld(name), false, `lock '${name}' should be free`)
}

/** Expects that the holder no longer trusts a lease, because another caller has just acquired the lock. */
export function expectOver(lease: Acquisition['lease'] | undefined): void {
  assert(lease, 'the extension was refused, although the lock was held')
  assert.equal(lease.remaining(), 0, 'the lock was acquired while its first holder still trusted its lease')
}

/** Waits until the lock is free, by the storage's own clock. */
export async function untilFree(environment: LockProviderEnvironment, name: string): Promise<void> {
  await until(async () => !(await environment.isHeld(name)), `lock '${name}' becomes free`)
}

/** Polls until `condition` returns something other than `false`, and returns that. */
export async function until<T>(condition: () => Promise<T | false> | T | false, what: string): Promise<T> {
  const deadline = performance.now() + 30_000
  // Many cases wait at the same time, some for seconds, so the interval grows: their polling must not overload the database.
  for (let interval = 5; ; interval = Math.min(2 * interval, 100)) {
    const found = await condition()
    if (found !== false) return found
    assert(performance.now() < deadline, `waited 30 seconds in vain until ${what}`)
    await sleep(interval)
  }
}

export function expectGrowing(tokens: readonly (number | undefined)[]): void {
  let last = 0
  for (const token of tokens) {
    assert(
      Number.isSafeInteger(token) && Number(token) > last,
      `the tokens are not safe integers that grow with every acquisition: ${tokens.join(', ')}`,
    )
    last = Number(token)
  }
}
