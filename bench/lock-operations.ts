import { LockingTaskExecutor, type Lock, type LockProvider } from 'shedlock-orm'
import type { Operation } from './operation'

const MINUTE = 60_000
/** The first of the slots to acquire. It lies so far in the past that there are enough, because each can be acquired only once. */
const FIRST_SLOT = Date.now() - 365 * 24 * 60 * MINUTE

/** The operations of our own lock through one provider. `held` is the name of a lock that another owner holds all the time. */
export async function ourOperations(who: string, provider: LockProvider, held: string): Promise<Operation[]> {
  const executor = new LockingTaskExecutor(provider)
  const extended = await take(provider, `extend ${who}`)
  const win = { name: `win ${who}`, lockAtMostFor: MINUTE }
  const lose = { name: held, lockAtMostFor: MINUTE }
  let slot = FIRST_SLOT
  return [
    {
      scenario: 'win + release',
      who,
      run: async () => {
        await (await take(provider, win.name)).unlock()
      },
    },
    {
      scenario: 'win + release',
      who: `${who}, with a slot`,
      run: async () => {
        await (await take(provider, `slot ${who}`, slot++)).unlock()
      },
    },
    {
      scenario: 'lose',
      who: `${who}, with a slot`,
      run: async () => {
        if (await provider.lock({ ...lose, slot: FIRST_SLOT })) throw new Error('the lock was free')
      },
    },
    {
      scenario: 'lose',
      who,
      run: async () => {
        if (await provider.lock(lose)) throw new Error('the lock was free')
      },
    },
    {
      scenario: 'extend',
      who,
      run: () => extended.extend(MINUTE),
    },
    { scenario: 'run an empty task', who, run: () => executor.executeWithLock(win, () => undefined) },
  ]
}

async function take(provider: LockProvider, name: string, slot?: number): Promise<Lock> {
  const lock = await provider.lock({ name, lockAtMostFor: MINUTE, slot })
  if (!lock) throw new Error(`lock '${name}' is held`)
  return lock
}
