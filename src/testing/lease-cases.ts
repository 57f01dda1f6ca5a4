import assert from 'node:assert/strict'
import { Lease, type Acquisition, type LockConfiguration } from '../core/internal'
import {
  acquire,
  acquireBriefly,
  acquireWhenFree,
  expectFree,
  expectHeld,
  expectLost,
  expectOver,
  expectRefused,
  prepare,
  until,
  untilFree,
  type Cases,
  type Outcome,
} from './expectations'

const MINUTE = 60_000
/** 49.7 days, of which a 32-bit number of milliseconds keeps nothing. */
const DAYS = 2 ** 32

/** How a lock is configured, extended and released. */
interface Release extends Partial<LockConfiguration> {
  /** How far the slot is ahead of now, in milliseconds. */
  readonly ahead?: number
  /** How old the lock is when it is extended or released, in milliseconds. */
  readonly age?: number
  readonly extended?: Parameters<Acquisition['extend']>
  readonly outcome?: Outcome
}

/** Creates a case that releases locks, each of which must then be free, or still be held because of `lockAtLeastFor`. */
function released(expected: 'free' | 'kept', ...releases: readonly Release[]): Cases[string] {
  return async (environment) => {
    await Promise.all(
      releases.map(async ({ ahead, age, extended, outcome, ...rest }) => {
        const slot = ahead === undefined ? undefined : Math.floor(Date.now() / 1_000) * 1_000 + ahead
        const { provider, other, configuration } = await prepare(environment, { ...rest, slot })
        const { name } = configuration
        const lock = await acquire(provider, configuration)
        await expectHeld(environment, name)
        // What is left when the acquisition resolves: the lease began some time before.
        const acquired = lock.lease.remaining()
        if (age !== undefined)
          await until(() => lock.lease.remaining() < acquired - age, `lock '${name}' is ${age} ms old`)
        // Twice, because a second extension counts from the acquisition, too.
        if (extended)
          for (const nth of ['first', 'second'])
            assert(await lock.extend(...extended), `lock '${name}' should be extended, for the ${nth} time`)
        await lock.unlock(outcome)
        if (expected === 'free') return expectFree(environment, name)
        await expectHeld(environment, name)
        for (const instance of [provider, other]) await expectRefused(instance, configuration, 'held')
      }),
    )
  }
}

/**
 * Creates a case in which a lock is never released: it expires, but not while its holder trusts it.
 *
 * @param factor how long it is extended for, in leases
 */
function expires(factor?: number): Cases[string] {
  return async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const { lock: dead, answer } = await acquireBriefly(provider, configuration, async (lock, first) =>
      factor === undefined ? lock.lease : lock.extend(factor * first, undefined),
    )
    const next = await acquireWhenFree(other, configuration)
    expectOver(dead.lease)
    expectOver(answer)
    assert(next.lease.remaining() > 0, 'the next lease was over at once')
    await expectHeld(environment, configuration.name)
  }
}

/** Cases about how long a lock stays held. */
export const leaseCases: Cases = {
  'lets a lock expire that is never released, but not while its holder trusts it': expires(),
  'lets an extended lock expire, but not while its holder trusts it': expires(1.5),
  'does not shorten a lease that is extended by less than what is left': expires(0.05),
  'extends a lock beyond its first lease, three times, with the same fencing token': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const { lock, answer, first } = await acquireBriefly(provider, configuration, async (acquired, lease) => {
      const token = await acquired.fencingToken?.()
      const extended = await acquired.extend(30 * lease, undefined)
      return extended && { token, extended }
    })
    const firstEnd = new Lease(first)
    assert(answer.extended.remaining() > first, 'the extension did not make the lease longer')
    assert.equal(await lock.fencingToken?.(), answer.token)
    for (const factor of [60, 90]) {
      const longer = await lock.extend(factor * first, undefined)
      assert(Number(longer?.remaining()) > first, 'the extension did not make the lease longer')
      assert.equal(await lock.fencingToken?.(), answer.token)
    }
    await until(() => firstEnd.remaining() === 0, 'the first lease is over')
    await expectRefused(other, configuration)
    await lock.unlock(undefined)
    await expectFree(environment, configuration.name)
  },
  'does not extend a lock whose lease is over, even if no other caller acquired it': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const lock = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectLost(lock.extend(5 * MINUTE, undefined))
    await expectFree(environment, configuration.name)
  },
  'keeps the lock for lockAtLeastFor, even if the task ends sooner, and no longer': async (environment) => {
    const durations = { lockAtMostFor: '4s', lockAtLeastFor: '2s' }
    const { provider, other, configuration } = await prepare(environment, durations)
    const first = await acquire(provider, configuration)
    await first.unlock('failed')
    await acquireWhenFree(other, configuration)
    assert(first.lease.remaining() <= 2_000, 'the lock was free before lockAtLeastFor was over')
  },
  'keeps the lock for the lockAtLeastFor of its last extension, if that has one': released(
    'kept',
    { extended: [10 * MINUTE, 9 * MINUTE] },
    { lockAtLeastFor: '4m', extended: [10 * MINUTE, undefined] },
  ),
  'drops the previous lockAtLeastFor when an extension sets it to 0': released('free', {
    lockAtLeastFor: '4m',
    extended: [10 * MINUTE, 0],
  }),
  'counts lockAtLeastFor from the acquisition, not from an extension or the release': released(
    'free',
    { lockAtLeastFor: '1s', age: 1_500, outcome: 'succeeded' },
    { extended: [5 * MINUTE, 1_000], age: 1_500 },
    { lockAtLeastFor: '1s', extended: [5 * MINUTE, undefined], age: 1_500 },
    { lockAtLeastFor: '1s', age: 1_500, ahead: MINUTE / 2 },
  ),
  'counts lockAtLeastFor from the acquisition, not from the slot, also after an extension': released(
    'kept',
    { lockAtMostFor: '50m', lockAtLeastFor: '50m', ahead: -60 * MINUTE },
    { extended: [10 * MINUTE, 5 * MINUTE], ahead: -60 * MINUTE, outcome: 'succeeded' },
  ),
  'keeps a failed slot for lockAtLeastFor, so that an instance with a late timer does not repeat it at once':
    released('kept', { untilSucceeded: true, ahead: -60 * MINUTE, lockAtLeastFor: '1m', outcome: 'failed' }),
  'releases a lock under which nothing ran at once, whatever lockAtLeastFor says': released(
    'free',
    { lockAtLeastFor: '5m', outcome: 'unused' },
    { extended: [5 * MINUTE, 5 * MINUTE], outcome: 'unused' },
  ),
  'holds a lease of 49.7 days, of which a 32-bit number of milliseconds keeps nothing': released('kept', {
    lockAtMostFor: DAYS,
    lockAtLeastFor: DAYS,
    extended: [DAYS, undefined],
    outcome: 'succeeded',
  }),
}
