import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, jest } from '@jest/globals'
import { parseLockConfiguration } from '../../src/core/configuration'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { promiseWithResolvers } from '../promise-with-resolvers'

const RUNS = 300

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const alive = (refs: readonly WeakRef<object>[]): number => refs.filter((ref) => ref.deref()).length

/** Collects garbage; what was only just referred to is garbage from the next turn on. */
async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
}

it('memory does not keep the past runs of a job that starts itself again inside of its own task', async () => {
  const locks: WeakRef<object>[] = []
  const contexts: WeakRef<object>[] = []
  // One for each run, because only these show that the scopes of ended runs go: a scope that has ended refers to nothing else.
  const providers: WeakRef<object>[] = []
  const kept = promiseWithResolvers<readonly number[]>()
  const job = (): void => {
    const provider = new InMemoryLockProvider()
    providers.push(new WeakRef(provider))
    const executor = new LockingTaskExecutor(provider)
    void executor.executeWithLock({ name: 'job', lockAtMostFor: '1h' }, async (context) => {
      locks.push(new WeakRef(context.lock))
      contexts.push(new WeakRef(context.signal))
      if (locks.length < RUNS) return void setImmediate(job)
      await collectGarbage()
      kept.resolve([alive(locks), alive(contexts), alive(providers)])
    })
  }
  job()
  for (const count of await kept.promise) expect(count).toBeLessThan(RUNS / 10)
})

it('memory does not keep the past locks and results of an executor', async () => {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider())
  const refs: WeakRef<object>[] = []
  for (let run = 0; run < RUNS; run++)
    await executor.executeWithLock({ name: 'job', lockAtMostFor: '1h' }, ({ lock }) => {
      const result = {}
      refs.push(new WeakRef(lock), new WeakRef(result))
      return result
    })
  await collectGarbage()
  expect(refs).toHaveLength(2 * RUNS)
  expect(alive(refs)).toBeLessThan(RUNS / 10)
})

it('memory does not keep locks that have expired', async () => {
  let now = 0
  // The token of a lock that was acquired in this millisecond would be kept.
  jest.spyOn(Date, 'now').mockImplementation(() => now)
  const provider = new InMemoryLockProvider({ now: () => now })
  const leases: WeakRef<object>[] = []
  for (let index = 0; index < RUNS; index++) {
    const { configuration } = parseLockConfiguration({ name: `lock ${index}`, lockAtMostFor: '1h' })
    const answer = await provider.acquire(configuration)
    if ('lease' in answer) leases.push(new WeakRef(answer.lease))
    now += 4_000_000
  }
  await collectGarbage()
  expect(leases).toHaveLength(RUNS)
  expect(alive(leases)).toBeLessThan(RUNS / 2)
})
