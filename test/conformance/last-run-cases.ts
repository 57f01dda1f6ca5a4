import assert from 'node:assert/strict'
import { LockingTaskExecutor } from '../../src/core/internal'
import { prepare, untilFree } from '../../src/testing/expectations'
import { acquireLock, expectRow } from './sql-expectations'
import type { SqlCases, SqlLockProviderEnvironment } from './sql-lock-provider-environment'

/** Expects that `locked_by` matches `ending`, and returns the match. */
async function expectEnding(
  environment: SqlLockProviderEnvironment,
  name: string,
  ending: RegExp,
): Promise<readonly string[]> {
  const { lockedBy } = await expectRow(environment, name)
  assert.match(lockedBy, ending)
  return lockedBy.match(ending) ?? []
}

export const lastRunCases: SqlCases = {
  'records in locked_by how a run ended and how long it took': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const began = performance.now()
    for (const outcome of ['succeeded', 'failed', undefined] as const) {
      const lock = await acquireLock(provider, configuration)
      await lock.unlock({ outcome })
      const ending = new RegExp(`/(\\d+)(\\+\\d+)? ${outcome ?? 'unlocked'}$`)
      const [, took] = await expectEnding(environment, configuration.name, ending)
      assert(
        Number(took) <= performance.now() - began,
        `locked_by records ${String(took)} ms, which is too long`,
      )
    }
  },
  'records in locked_by how a task of an executor ended': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const executor = new LockingTaskExecutor(provider)
    await executor.executeWithLock(configuration, () => 1)
    await expectEnding(environment, configuration.name, / succeeded$/)
    const fail = (): Promise<never> => Promise.reject(new Error('of the task'))
    await assert.rejects(executor.executeWithLock(configuration, fail), /of the task/)
    await expectEnding(environment, configuration.name, / failed$/)
  },
  'records how and when a run ended, even while lockAtLeastFor keeps the lock held': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtLeastFor: '2m' })
    const before = await environment.clock()
    const lock = await acquireLock(provider, configuration)
    await lock.unlock({ outcome: 'succeeded' })
    const after = await environment.clock()
    const [, keeps] = await expectEnding(environment, configuration.name, /\/\d+\+(\d+) succeeded$/)
    const { lockUntil } = await expectRow(environment, configuration.name)
    const ended = lockUntil - Number(keeps)
    assert(ended >= before && ended <= after, `it ended at ${ended}, not between ${before} and ${after}`)
  },
  'records no outcome for a run that never began, nor for one that has not ended': async (environment) => {
    const { provider, configuration } = await prepare(environment)
    const lock = await acquireLock(provider, configuration)
    await expectEnding(environment, configuration.name, /[\da-f]{12}$/)
    await lock.unlock({ outcome: 'unused' })
    await expectEnding(environment, configuration.name, /\/unlocked$/)
    await (await acquireLock(provider, configuration)).unlock()
    await expectEnding(environment, configuration.name, /\d unlocked$/)
  },
  'records a late outcome only for the last holder': async (environment) => {
    const { provider, configuration } = await prepare(environment, { lockAtMostFor: '2s' })
    const late = await acquireLock(provider, configuration)
    await untilFree(environment, configuration.name)
    await late.unlock({ outcome: 'succeeded' })
    await expectEnding(environment, configuration.name, / succeeded$/)
    assert.equal(await environment.isHeld(configuration.name), false, 'a late release brought the lock back')
    const outdated = await acquireLock(provider, configuration)
    await untilFree(environment, configuration.name)
    await acquireLock(provider, { ...configuration, lockAtMostFor: '5m' })
    const row = await expectRow(environment, configuration.name)
    await outdated.unlock({ outcome: 'failed' })
    assert.deepEqual(await expectRow(environment, configuration.name), row)
  },
}
