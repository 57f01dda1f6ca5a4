import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, jest } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { afterTest } from '../after-test'
import { promiseWithResolvers } from '../promise-with-resolvers'

const RUNS = 300

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

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
  const alive = (refs: readonly WeakRef<object>[]): number => refs.filter((ref) => ref.deref()).length
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

it('memory keeps held locks, slots and tokens, however many names come after them', async () => {
  // The tokens of one millisecond lie ahead of the clock.
  jest.useFakeTimers()
  afterTest(() => jest.useRealTimers())
  const provider = new InMemoryLockProvider()
  const lockAtMostFor = '1h'
  const use = async (name: string): Promise<number> => {
    await using lock = await provider.lock({ name, lockAtMostFor })
    return Number(await lock?.fencingToken())
  }
  await provider.lock({ name: 'held', lockAtMostFor })
  const slot = { name: 'slot', lockAtMostFor, slot: Date.now() }
  await (await provider.lock(slot))?.unlock()
  jest.advanceTimersByTime(1_000)
  await use('token')
  const token = await use('token')
  for (let name = 0; name < 300; name++) await use(`other ${name}`)
  expect(await provider.lock({ name: 'held', lockAtMostFor })).toBeUndefined()
  expect(await provider.lock(slot)).toBeUndefined()
  expect(await use('token')).toBeGreaterThan(token)
})
