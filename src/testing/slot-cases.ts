import assert from 'node:assert/strict'
import type { LockConfiguration, LockProvider } from '../core'
import { expectFree, expectHeld, expectLockError, newConfiguration, take, untilFree } from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const MINUTE = 60_000

/** An hour ago, as every instance knows it. */
function anHourAgo(): number {
  return (Math.floor(Date.now() / MINUTE) - 60) * MINUTE
}

async function run(provider: LockProvider, configuration: LockConfiguration): Promise<void> {
  await (await take(provider, configuration)).unlock()
}

async function expectReason(
  provider: LockProvider,
  configuration: LockConfiguration,
  expected: 'held' | 'already-run',
): Promise<void> {
  let reason = 'held'
  const lock = await provider.lock(configuration, { onRefused: (why) => (reason = why) })
  assert.equal(lock, undefined, `slot ${String(configuration.slot)} was given, but is ${expected}`)
  assert.equal(reason, expected)
}

/** Locks for a slot: when a run was due. */
export const slotCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'gives a slot once, and says why not again',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration({ slot: anHourAgo() })
      const lock = await take(provider, configuration)
      await expectReason(provider, configuration, 'held')
      await lock.unlock()
      await expectFree(environment, configuration.name)
      await expectReason(await environment.createProvider(), configuration, 'already-run')
    },
  },
  {
    title: 'gives the next slot, however late, but none before one that was given',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const { name, lockAtMostFor } = newConfiguration()
      const first = anHourAgo()
      await run(provider, { name, lockAtMostFor, slot: first })
      await run(provider, { name, lockAtMostFor, slot: new Date(first + 2 * MINUTE) })
      await expectReason(provider, { name, lockAtMostFor, slot: first + MINUTE }, 'already-run')
      await run(provider, { name, lockAtMostFor, slot: first + 2 * MINUTE + 1 })
    },
  },
  {
    title: 'does not give the slot of a holder that died, but the next one',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration({ slot: anHourAgo(), lockAtMostFor: '2s' })
      await take(provider, configuration)
      await untilFree(environment, configuration.name)
      await expectReason(provider, configuration, 'already-run')
      await run(provider, { ...configuration, slot: anHourAgo() + MINUTE })
    },
  },
  {
    title: 'does not give a slot that was due before a run without a slot',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      await run(provider, configuration)
      await expectReason(provider, { ...configuration, slot: anHourAgo() }, 'already-run')
      await run(provider, { ...configuration, slot: Date.now() + MINUTE })
    },
  },
  {
    title: 'gives a lock without a slot after one with a slot, whatever that was',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      await run(provider, { ...configuration, slot: Date.now() + MINUTE })
      await run(provider, configuration)
      await run(provider, configuration)
    },
  },
  {
    title: 'refuses a slot that is more than an hour ahead, and leaves no trace',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      const tooFar = { ...configuration, slot: Date.now() + 66 * MINUTE }
      await expectLockError(provider.lock(tooFar), 'INVALID_CONFIGURATION')
      await expectFree(environment, configuration.name)
      await run(provider, { ...configuration, slot: anHourAgo() })
      await expectLockError(provider.lock(tooFar), 'INVALID_CONFIGURATION')
      await run(provider, { ...configuration, slot: Date.now() + 54 * MINUTE })
    },
  },
  {
    title: 'refuses slots that are no times',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const configuration = newConfiguration()
      for (const slot of [NaN, -1, 0, 1.5, Infinity, 1e15, new Date(NaN), new Date(-1)])
        await expectLockError(provider.lock({ ...configuration, slot }), 'INVALID_CONFIGURATION')
      const text = '2026-11-21' as unknown as Date
      await expectLockError(provider.lock({ ...configuration, slot: text }), 'INVALID_CONFIGURATION')
    },
  },
  {
    title: 'counts lockAtLeastFor from the slot',
    run: async (environment) => {
      const provider = await environment.createProvider()
      const late = newConfiguration({ slot: anHourAgo(), lockAtMostFor: '50m', lockAtLeastFor: '50m' })
      await run(provider, late)
      await untilFree(environment, late.name)
      const inTime = newConfiguration({ slot: Date.now(), lockAtMostFor: '10m', lockAtLeastFor: '9m' })
      await run(provider, inTime)
      await expectHeld(environment, inTime.name)
    },
  },
]
