import { expect, it } from '@jest/globals'
import { assertLocked, LockingTaskExecutor } from '../../src/core/internal'
import { alwaysFree } from '../../src/testing'

it('A lock that is always free keeps nobody out, and is a lock for its task', async () => {
  const provider = alwaysFree()
  const here = new LockingTaskExecutor(provider)
  const there = new LockingTaskExecutor(provider)
  const job = { name: 'job', lockAtMostFor: '1m', lockAtLeastFor: '1m' }
  const result = await here.executeWithLock(job, async ({ lock, signal }) => {
    assertLocked('job')
    expect(await there.executeWithLock(job, () => 'beside it')).toEqual({
      executed: true,
      value: 'beside it',
    })
    await lock.extend('1h')
    expect(lock.remaining()).toBeGreaterThan(60_000)
    return signal.aborted
  })
  expect(result).toEqual({ executed: true, value: false })
  await expect(provider.lock({ name: '', lockAtMostFor: '1m' })).rejects.toMatchObject({
    code: 'INVALID_CONFIGURATION',
  })
})
