import assert from 'node:assert/strict'
import { LockingTaskExecutor } from '../core'
import { newConfiguration } from './expectations'
import type { LockProviderEnvironment } from './lock-provider-environment'
import type { CaseDefinition } from './suite-case'

const CONTENDERS = 16
/** Contenders of one instance of the app share a provider. */
const INSTANCES = 4
const SLOTS = 100
const INTERVAL = 1_000

/**
 * Contenders go through the slots at one pace, each ahead of the others by as many slots as its clock is. Their jobs take
 * no time.
 *
 * @param ahead by how many slots the clock of a contender is ahead
 * @returns how often each slot was run
 */
async function race(
  environment: LockProviderEnvironment,
  ahead: (contender: number) => number,
): Promise<number[]> {
  const { name, lockAtMostFor } = newConfiguration()
  const first = (Math.floor(Date.now() / INTERVAL) - SLOTS) * INTERVAL
  const runs = Array.from({ length: SLOTS }, () => 0)
  const executors: LockingTaskExecutor[] = []
  for (let instance = 0; instance < INSTANCES; instance++) {
    const provider = await environment.createProvider()
    const contenders = { length: CONTENDERS / INSTANCES }
    executors.push(...Array.from(contenders, () => new LockingTaskExecutor(provider)))
  }
  const furthest = Math.max(...executors.map((_, contender) => ahead(contender)))
  for (let now = -furthest; now < SLOTS; now++) {
    await Promise.all(
      executors.map(async (executor, contender) => {
        const number = now + ahead(contender)
        if (number < 0 || number >= SLOTS) return
        const slot = first + number * INTERVAL
        await executor.executeWithLock({ name, lockAtMostFor, slot }, () => {
          runs[number] = (runs[number] ?? 0) + 1
        })
      }),
    )
  }
  return runs
}

/** Sixteen contenders that go through slots by clocks of their own. */
export const slotRaceCases: readonly CaseDefinition<LockProviderEnvironment>[] = [
  {
    title: 'runs each slot exactly once while sixteen contenders differ by less than an interval',
    run: async (environment) => {
      const runs = await race(environment, (contender) => contender % 2)
      assert.deepEqual(
        runs,
        runs.map(() => 1),
      )
    },
  },
  {
    title: 'runs no slot twice while the clocks of sixteen contenders differ by eight intervals',
    run: async (environment) => {
      const runs = await race(environment, (contender) => contender % 9)
      assert.deepEqual(
        runs.filter((times) => times > 1),
        [],
      )
      assert(
        runs.some((times) => times === 1),
        'no slot was run at all',
      )
    },
  },
]
