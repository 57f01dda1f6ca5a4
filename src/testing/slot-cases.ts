import {
  acquire,
  acquireAndRelease,
  expectFree,
  expectHeld,
  expectLockError,
  expectRefused,
  prepare,
  untilFree,
} from './expectations'
import type { Cases } from './lock-provider-environment'

const MINUTE = 60_000

/** Returns the slot of an hour ago, which is the same for every instance. */
function anHourAgo(): number {
  return (Math.floor(Date.now() / MINUTE) - 60) * MINUTE
}

/** Cases about slots: a slot is the time at which a run was due. */
export const slotCases: Cases = {
  'acquires a slot only once, and returns why it refuses the slot afterwards': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, { slot: anHourAgo() })
    const lock = await acquire(provider, configuration)
    await expectRefused(other, configuration, 'held')
    await lock.unlock('failed')
    await expectFree(environment, configuration.name)
    await expectRefused(other, configuration, 'already-run')
  },
  'acquires any later slot, but no slot before one that was acquired': async (environment) => {
    const { provider, other, configuration } = await prepare(environment)
    const slot = anHourAgo()
    await acquireAndRelease(provider, { ...configuration, slot })
    await acquireAndRelease(other, { ...configuration, slot: slot + 2 * MINUTE })
    await expectRefused(provider, { ...configuration, slot: slot + MINUTE }, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: slot + 2 * MINUTE + 1 })
  },
  'does not acquire the slot of a dead holder again, but acquires the next one': async (environment) => {
    const slot = anHourAgo()
    const { provider, configuration } = await prepare(environment, { slot, lockAtMostFor: '2s' })
    await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectRefused(provider, configuration, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: slot + MINUTE })
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
  'counts lockAtLeastFor from the acquisition, not from the slot, also after an extension': async (
    environment,
  ) => {
    const late = await prepare(environment, {
      slot: anHourAgo(),
      lockAtMostFor: '50m',
      lockAtLeastFor: '50m',
    })
    await acquireAndRelease(late.provider, late.configuration)
    await expectHeld(environment, late.configuration.name)
    const extended = await prepare(environment, { slot: anHourAgo() })
    const lock = await acquire(extended.provider, extended.configuration)
    await lock.extend(10 * MINUTE, 5 * MINUTE)
    await lock.unlock('succeeded')
    await expectHeld(environment, extended.configuration.name)
    const early = await prepare(environment, { slot: Date.now() + MINUTE / 2, lockAtLeastFor: 1 })
    await acquireAndRelease(early.provider, early.configuration)
    await untilFree(environment, early.configuration.name)
  },
  'acquires a slot again, but no earlier one, if nothing ran, even if its lease is over': async (
    environment,
  ) => {
    const slot = anHourAgo()
    const { provider, other, configuration } = await prepare(environment, { slot, lockAtMostFor: '2s' })
    await acquireAndRelease(provider, { ...configuration, slot: slot - MINUTE })
    const lock = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await lock.unlock('unused')
    await expectRefused(other, { ...configuration, slot: slot - MINUTE }, 'already-run')
    await acquireAndRelease(other, configuration)
    await lock.unlock('unused')
    await expectRefused(provider, configuration, 'already-run')
  },
}
