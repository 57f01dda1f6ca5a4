import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'

const job = { name: 'job', lockAtMostFor: '1h' }

describe('when a task ends', () => {
  it.each(['returns', 'throws'])('that %s, work that outlives it hears so by its signal', async (how) => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    let left: AbortSignal | undefined
    let abortedInside: boolean | undefined
    const run = executor.executeWithLock(job, ({ signal }) => {
      left = signal
      abortedInside = signal.aborted
      if (how === 'throws') throw new Error('business')
    })
    await run.catch(() => undefined)
    expect(abortedInside).toBe(false)
    expect(left?.aborted).toBe(true)
    expect(left?.reason).toMatchObject({ name: 'LockError', code: 'NOT_LOCKED', lockName: 'job' })
  })
})
