import { expect, it, jest } from '@jest/globals'
import * as first from '../../src/core'

it('a second copy of the package knows the locks of the first, and its errors, but not as those of a subclass, nor any other', async () => {
  const { InMemoryLockProvider, LockError, LockingTaskExecutor } = first
  let other = first
  jest.isolateModules(() => {
    other = jest.requireActual('../../src/core')
  })
  expect(other.LockError).not.toBe(LockError)
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  const lock = { name: 'job', lockAtMostFor: '1m' }
  expect(await executor.executeWithLock(lock, () => other.activeLock()?.name)).toMatchObject({ value: 'job' })
  const error = new other.LockError('TIMEOUT', 'late')
  class Own extends LockError {}
  const isError = [error instanceof LockError, error instanceof Own, new Error('late') instanceof LockError]
  expect(isError).toEqual([true, false, false])
})
