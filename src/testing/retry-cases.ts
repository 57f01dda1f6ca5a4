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

/** The slot of an hour ago, which is the same for every instance. */
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

/** Cases about `untilSucceeded`: a slot can be acquired again until one of its runs has succeeded. */
export const retryCases: Cases<LockProviderEnvironment> = {
  'acquires a slot again until it has succeeded, with a greater token each time': async (environment) => {
    const { provider, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
    const other = await environment.createProvider()
    const tokens: number[] = []
    for (const outcome of ['failed', undefined, 'failed', 'unused', 'succeeded'] as const) {
      tokens.push(await run(provider, configuration, outcome))
      // A run that never began releases its slot, so its token may be used again.
      if (outcome === 'unused') tokens.pop()
    }
    assert.deepEqual(tokens, [...new Set(tokens)].sort(), `tokens do not grow: ${tokens.join()}`)
    await expectRefused(other, configuration, 'already-run')
    await expectRefused(other, { ...configuration, slot: SLOT + 999 }, 'already-run')
    await run(other, { ...configuration, slot: SLOT + 1_000 }, 'failed')
    await expectRefused(provider, configuration, 'already-run')
  },
  'acquires the slot of a dead holder again with untilSucceeded': async (environment) => {
    const { provider, configuration } = await prepare(environment, SHORT)
    await acquire(provider, configuration)
    await expectRefused(provider, configuration)
    await untilFree(environment, configuration.name)
    await expectRefused(provider, { ...configuration, untilSucceeded: false }, 'already-run')
    await run(provider, configuration, 'succeeded')
    await expectRefused(provider, configuration, 'already-run')
  },
  'counts a success that is reported after the lease, if the lock was not acquired since': async (
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
  'does not acquire a failed slot again without untilSucceeded': async (environment) => {
    const { provider, configuration } = await prepare(environment, { slot: SLOT })
    await run(provider, configuration, 'failed')
    await expectRefused(provider, configuration, 'already-run')
    await acquireAndRelease(provider, { ...configuration, slot: SLOT + 60_000 })
    await expectRefused(provider, { ...configuration, untilSucceeded: true }, 'already-run')
  },
  'keeps a failed slot for lockAtLeastFor, so that an instance with a late timer does not repeat it at once':
    async (environment) => {
      const { provider, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
      const other = await environment.createProvider()
      const kept = { ...configuration, lockAtLeastFor: '1m' }
      await run(provider, kept, 'failed')
      for (const instance of [provider, other, provider, other]) await expectRefused(instance, kept, 'held')
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
