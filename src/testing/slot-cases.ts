import {
  acquire,
  acquireAndRelease,
  expectFree,
  expectHeld,
  expectLockError,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
} from './expectations'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'

const MINUTE = 60_000

/** Returns the slot of an hour ago, which is the same for every instance. */
function anHourAgo(): number {
  return (Math.floor(Date.now() / MINUTE) - 60) * MINUTE
}

/** Cases about slots: a slot is the time at which a run was due. */
export const slotCases: Cases<LockProviderEnvironment> = {
  'acquires a slot only once, and returns why it refuses the slot afterwards': async (environment) => {
    const { provider, configuration } = await prepare(environment, { slot: anHourAgo() })
    const lock = await acquire(provider, configuration)
    await expectRefused(provider, configuration)
    await lock.unlock()
    await expectFree(environment, configuration.name)
    await expectRefused(await environment.createProvider(), configuration, 'already-run')
  },
  'acquires any later slot, but no slot before one that was acquired': async (environment) => {
    const provider = await environment.createProvider()
    const { name, lockAtMostFor } = newConfiguration()
    const first = anHourAgo()
    await acquireAndRelease(provider, { name, lockAtMostFor, slot: first })
    await acquireAndRelease(provider, { name, lockAtMostFor, slot: new Date(first + 2 * MINUTE) })
    await expectRefused(provider, { name, lockAtMostFor, slot: first + MINUTE }, 'already-run')
    await acquireAndRelease(provider, { name, lockAtMostFor, slot: first + 2 * MINUTE + 1 })
  },
  'does not acquire the slot of a dead holder again, but acquires the next one': async (environment) => {
    const { provider, configuration } = await prepare(environment, { slot: anHourAgo(), lockAtMostFor: '2s' })
    await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectRefused(provider, configuration, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: anHourAgo() + MINUTE })
  },
  'does not acquire a slot that was due before a run without a slot': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    await acquireAndRelease(provider, configuration)
    await expectRefused(provider, { ...configuration, slot: anHourAgo() }, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: Date.now() + MINUTE / 2 })
  },
  'acquires a lock without a slot after any slot, even one in the future': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    await acquireAndRelease(provider, { ...configuration, slot: Date.now() + MINUTE / 2 })
    await acquireAndRelease(provider, configuration)
    await acquireAndRelease(provider, configuration)
  },
  'refuses a slot more than a minute in the future, and leaves no trace': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const tooFar = { ...configuration, slot: Date.now() + 2 * MINUTE }
    await expectRefused(provider, tooFar, 'slot-too-far-ahead')
    await expectLockError(provider.lock(tooFar), 'INVALID_CONFIGURATION')
    await expectFree(environment, configuration.name)
    await acquireAndRelease(provider, { ...configuration, slot: anHourAgo() })
    await expectLockError(provider.lock(tooFar), 'INVALID_CONFIGURATION')
    await acquireAndRelease(provider, { ...configuration, slot: Date.now() + MINUTE / 2 })
  },
  'refuses slots that are not valid times': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    for (const slot of [NaN, -1, 0, 1.5, Infinity, 1e15, new Date(NaN), new Date(-1)])
      await expectLockError(provider.lock({ ...configuration, slot }), 'INVALID_CONFIGURATION')
    const text = '2026-11-21' as unknown as Date
    await expectLockError(provider.lock({ ...configuration, slot: text }), 'INVALID_CONFIGURATION')
  },
  'counts lockAtLeastFor from the acquisition, not from the slot, also after an extension': async (
    environment,
  ) => {
    const provider = await environment.createProvider()
    const late = newConfiguration({ slot: anHourAgo(), lockAtMostFor: '50m', lockAtLeastFor: '50m' })
    await acquireAndRelease(provider, late)
    await expectHeld(environment, late.name)
    const extended = newConfiguration({ slot: anHourAgo() })
    const lock = await acquire(provider, extended)
    await lock.extend('10m', '5m')
    await lock.unlock()
    await expectHeld(environment, extended.name)
    const early = newConfiguration({ slot: Date.now() + MINUTE / 2 })
    await acquireAndRelease(provider, early)
    await acquireAndRelease(provider, { ...early, slot: undefined, lockAtLeastFor: 1 })
    await untilFree(environment, early.name)
    await acquire(provider, { ...early, slot: undefined })
  },
  'acquires a slot again if its task never began, even if its lease is over': async (environment) => {
    const { provider, configuration } = await prepare(environment, { slot: anHourAgo(), lockAtMostFor: '2s' })
    const lock = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await lock.unlock({ outcome: 'unused' })
    await acquireAndRelease(provider, { ...configuration, lockAtMostFor: '5m' })
  },
}
