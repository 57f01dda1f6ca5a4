import { describe, expect, it } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'

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

describe('a run inside of its own lock', () => {
  it('is skipped as nested while another run of the same name is in progress, wherever it was started', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    const goOn = promiseWithResolvers()
    let running = 0
    let together = 0
    const work = async (): Promise<void> => {
      together = Math.max(together, ++running)
      await goOn.promise
      running--
    }
    await executor.executeWithLock(job, async () => {
      let orphan: Promise<unknown> = Promise.resolve()
      // Ends at once, and leaves a run behind.
      await executor.executeWithLock(job, () => {
        orphan = executor.executeWithLock(job, work)
      })
      const second = executor.executeWithLock(job, work)
      // The second one is refused without waiting for the first; a wrong one waits for `goOn`.
      const outcome = await Promise.race([second, new Promise((resolve) => setImmediate(resolve))])
      goOn.resolve()
      expect(outcome).toEqual({ executed: false, reason: 'nested' })
      expect(await orphan).toMatchObject({ executed: true })
    })
    expect(together).toBe(1)
  })
})
