import type { Acquisition, LockConfiguration, LockProvider } from '../core/internal'
import {
  acquire,
  acquireAndRelease,
  expectGrowing,
  expectRefused,
  newConfiguration,
  prepare,
  untilFree,
} from './expectations'
import type { Cases } from './lock-provider-environment'

/** The slot of an hour ago, which is the same for every instance. */
const SLOT = Math.floor(Date.now() / 60_000 - 60) * 60_000
const UNTIL_SUCCEEDED = { slot: SLOT, untilSucceeded: true }
const SHORT = { ...UNTIL_SUCCEEDED, lockAtMostFor: '2s' }

async function run(
  provider: LockProvider,
  configuration: LockConfiguration,
  outcome: Parameters<Acquisition['unlock']>[0],
): Promise<number> {
  const lock = await acquire(provider, configuration)
  const token = await lock.fencingToken?.()
  await lock.unlock(outcome)
  return Number(token)
}

/** Cases about `untilSucceeded`: a slot can be acquired again until one of its runs has succeeded. */
export const retryCases: Cases = {
  'acquires a slot again until it has succeeded, with a greater token each time': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
    const tokens: number[] = []
    for (const outcome of ['failed', undefined, 'failed', 'unused', 'succeeded'] as const) {
      tokens.push(await run(provider, configuration, outcome))
      // A run that never began releases its slot, so its token may be used again.
      if (outcome === 'unused') tokens.pop()
    }
    expectGrowing(tokens)
    await expectRefused(other, configuration, 'already-run')
    await expectRefused(other, { ...configuration, slot: SLOT + 999 }, 'already-run')
  },
  'does not acquire a slot again after a later slot, even if the later one failed': async (environment) => {
    const { provider, other, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
    await run(provider, configuration, 'failed')
    await run(other, { ...configuration, slot: SLOT + 1_000 }, 'failed')
    await expectRefused(provider, configuration, 'already-run')
  },
  'acquires the slot of a dead holder again with untilSucceeded, even if the slot before succeeded': async (
    environment,
  ) => {
    const { provider, other, configuration } = await prepare(environment, SHORT)
    await run(provider, { ...configuration, slot: SLOT - 60_000 }, 'succeeded')
    await acquire(provider, configuration)
    await expectRefused(other, configuration)
    await untilFree(environment, configuration.name)
    await expectRefused(other, { ...configuration, untilSucceeded: false }, 'already-run')
    await run(other, configuration, 'succeeded')
    await expectRefused(provider, configuration, 'already-run')
  },
  'counts a success that is reported after the lease, if the lock was not acquired since': async (
    environment,
  ) => {
    const { provider, configuration } = await prepare(environment, SHORT)
    const late = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    const again = await acquire(provider, { ...configuration, lockAtMostFor: '5m' })
    await late.unlock('succeeded')
    await again.unlock('failed')
    await late.unlock('succeeded')
    const last = await acquire(provider, configuration)
    await untilFree(environment, configuration.name)
    await last.unlock('succeeded')
    await expectRefused(provider, configuration, 'already-run')
  },
  'keeps the first outcome when a lock is released twice': async (environment) => {
    for (const outcome of ['failed', undefined, 'unused'] as const) {
      const { provider, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
      const lock = await acquire(provider, configuration)
      await lock.unlock('succeeded')
      await lock.unlock(outcome)
      await expectRefused(provider, configuration, 'already-run')
    }
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
      const { provider, other, configuration } = await prepare(environment, UNTIL_SUCCEEDED)
      const kept = { ...configuration, lockAtLeastFor: '1m' }
      await run(provider, kept, 'failed')
      for (const instance of [provider, other]) await expectRefused(instance, kept, 'held')
      const soonFree = { ...newConfiguration(UNTIL_SUCCEEDED), lockAtLeastFor: '10ms' }
      await run(provider, soonFree, 'failed')
      await untilFree(environment, soonFree.name)
      await run(other, soonFree, 'succeeded')
    },
}
