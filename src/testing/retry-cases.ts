import assert from 'node:assert/strict'
import type { LockConfiguration, LockProvider, UnlockOptions } from '../core/internal'
import {
  acquire,
  acquireAndRelease,
  expectLockError,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
} from './expectations'
import type { Cases, LockProviderEnvironment } from './lock-provider-environment'

/** An hour ago, as every instance knows it. */
const SLOT = Math.floor(Date.now() / 60_000 - 60) * 60_000
const UNTIL_SUCCEEDED = { slot: SLOT, untilSucceeded: true }
const SHORT = { ...UNTIL_SUCCEEDED, lockAtMostFor: '2s' }

async function run(
  provider: LockProvider,
  configuration: LockConfiguration,
  outcome: UnlockOptions['outcome'],
): Promise<number> {
  const lock = await acquire(provider, configuration)
  const token = await lock.fencingToken()
  await lock.unlock({ outcome })
  return token
}

/** Slots that are acquired until a run of them succeeded. */
export const retryCases: Cases<LockProviderEnvironment> = {
  'acquires a slot until it succeeded, with a greater token each time': async (environment) => {
    const { provider, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
    const another = await environment.createProvider()
    const tokens: number[] = []
    for (const outcome of ['failed', undefined, 'failed', 'unused', 'succeeded'] as const) {
      tokens.push(await run(provider, configuration, outcome))
      // The token of a run that never began may be another one's.
      if (outcome === 'unused') tokens.pop()
    }
    assert.deepEqual(tokens, [...new Set(tokens)].sort(), `tokens do not grow: ${tokens.join()}`)
    await expectRefused(another, configuration, 'already-run')
    await expectRefused(another, { ...configuration, slot: SLOT + 999 }, 'already-run')
    await run(another, { ...configuration, slot: SLOT + 1_000 }, 'failed')
    await expectRefused(provider, configuration, 'already-run')
  },
  'acquires the slot of a holder that died again, if it is to succeed': async (environment) => {
    const { provider, configuration } = await prepare(environment, SHORT)
    await acquire(provider, configuration)
    await expectRefused(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectRefused(provider, { ...configuration, untilSucceeded: false }, 'already-run')
    await run(provider, configuration, 'succeeded')
    await expectRefused(provider, configuration, 'already-run')
  },
  'counts a success that is told after the lease, if nobody has acquired the lock since': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment, SHORT)
    const late = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    const again = await acquire(provider, { ...configuration, lockAtMostFor: '5m' })
    await late.unlock({ outcome: 'succeeded' })
    await again.unlock({ outcome: 'failed' })
    const last = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await last.unlock({ outcome: 'succeeded' })
    await expectRefused(provider, configuration, 'already-run')
  },
  'does not acquire a slot again that failed, unless it is to succeed': async (environment) => {
    const { provider, configuration } = await prepare(environment, { slot: SLOT })
    await run(provider, configuration, 'failed')
    await expectRefused(provider, configuration, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: SLOT + 60_000 })
    await expectRefused(provider, { ...configuration, untilSucceeded: true }, 'already-run')
  },
  'keeps a slot that failed for lockAtLeastFor, so that no instance whose timer is late repeats it at once':
    async (environment) => {
      const { provider, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
      const another = await environment.createProvider()
      const kept = { ...configuration, lockAtLeastFor: '1m' }
      await run(provider, kept, 'failed')
      for (const each of [provider, another, provider, another]) await expectRefused(each, kept, 'held')
      const soonFree = { ...newConfiguration(UNTIL_SUCCEEDED), lockAtLeastFor: '10ms' }
      await run(provider, soonFree, 'failed')
      await untilFree(environment, soonFree.name)
      await run(provider, soonFree, 'succeeded')
    },
  'refuses untilSucceeded without a slot': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    for (const withoutSlot of [configuration, { ...configuration, slot: undefined }])
      await expectLockError(provider.lock({ ...withoutSlot, untilSucceeded: true }), 'INVALID_CONFIGURATION')
  },
}
