import { beforeEach } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { FaultyLockProvider } from './faulty-lock-provider'
import { recorder } from './recorder'

/** An executor, what it is made of, and what it has reported. */
export interface FaultyWorld {
  /** Keeps locks in memory. */
  readonly storage: InMemoryLockProvider
  /** Wraps `storage`, and fails on demand. */
  readonly provider: FaultyLockProvider
  readonly executor: LockingTaskExecutor
  /** The events that the executor has reported. */
  readonly heard: string[]
}

/** What it returns is new in each test of the file or block that calls this. */
export function useFaultyExecutor(): FaultyWorld {
  const world = {} as FaultyWorld
  beforeEach(() => {
    const storage = new InMemoryLockProvider()
    const provider = new FaultyLockProvider(storage)
    const { heard, listener } = recorder()
    // Wrapped jobs without slots may run again at once, and are not warned of.
    const executor = new LockingTaskExecutor(provider, { listeners: [listener], defaultLockAtLeastFor: 0 })
    Object.assign(world, { storage, provider, executor, heard })
  })
  return world
}
