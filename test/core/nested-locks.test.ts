import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { assertLocked, InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'

const thrown = (name?: string): unknown => {
  try {
    if (name === undefined) assertLocked()
    else assertLocked(name)
    return undefined
  } catch (error) {
    return error
  }
}

describe('assertLocked', () => {
  it('checks the innermost lock: inside a lost lock it throws, although the outer lock is held', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    await executor.executeWithLock({ name: 'outer', lockAtMostFor: '1h' }, async () => {
      await executor.executeWithLock({ name: 'inner', lockAtMostFor: '50ms' }, async ({ signal }) => {
        if (!signal.aborted) await once(signal, 'abort')
        expect(thrown()).toMatchObject({ name: 'LockError' })
      })
      expect(thrown()).toBeUndefined()
    })
  })

  it('finds a named lock at every level', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    await executor.executeWithLock({ name: 'outer', lockAtMostFor: '1h' }, async () => {
      await executor.executeWithLock({ name: 'inner', lockAtMostFor: '1h' }, () => {
        expect(thrown('outer')).toBeUndefined()
        expect(thrown('inner')).toBeUndefined()
        expect(thrown('other')).toMatchObject({ code: 'NOT_LOCKED' })
      })
      expect(thrown('inner')).toMatchObject({ code: 'NOT_LOCKED' })
    })
  })
})
