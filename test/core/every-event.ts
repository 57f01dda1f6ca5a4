import { LockError } from '../../src/core/errors'
import type { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import type { FaultyWorld } from './faulty-executor'

const job = { name: 'job', lockAtMostFor: '10m' }

/** Triggers every event of an executor whose provider is that of this world. */
export async function everyEvent(
  executor: LockingTaskExecutor,
  { provider, storage }: FaultyWorld,
): Promise<unknown[]> {
  const outcomes: unknown[] = []
  const run = async (work: Promise<unknown>) =>
    outcomes.push(await work.catch((error: unknown) => String(error)))
  await run(
    executor.executeWithLock(job, async ({ lock }) => {
      await lock.extend('20m')
    }),
  )
  const held = await storage.lock(job)
  await run(executor.executeWithLock(job, () => 'skipped'))
  await held?.unlock()
  await run(
    executor.executeWithLock(job, async ({ lock }) => {
      provider.faults.extend = new LockError('TIMEOUT', 'late')
      await lock.extend('20m').catch(() => undefined)
      delete provider.faults.extend
      provider.refusesExtensions = true
      await lock.extend('20m').catch(() => undefined)
      return 'lost'
    }),
  )
  storage.clear()
  provider.faults.unlock = new LockError('DATABASE_ERROR', 'gone')
  await run(executor.executeWithLock(job, () => Promise.reject(new Error('business'))))
  provider.faults.lock = new LockError('DATABASE_ERROR', 'gone')
  await run(executor.executeWithLock(job, () => 'not run'))
  return outcomes
}

/** What becomes of its tasks. */
export const outcomes = [
  { executed: true, value: undefined },
  { executed: false, reason: 'held' },
  { executed: true, value: 'lost' },
  'Error: business',
  'LockError: gone',
]
