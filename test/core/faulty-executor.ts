import { beforeEach } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { FaultyLockProvider } from './faulty-lock-provider'
import { recorder } from './recorder'

/** Keeps locks in memory. */
export let storage: InMemoryLockProvider
/** Wraps `storage`, and fails on demand. */
export let provider: FaultyLockProvider
export let executor: LockingTaskExecutor
/** The events that the executor has reported. */
export let heard: string[]

/** Creates all of these again before each test of the file or block that calls this. */
export function useFaultyExecutor(): void {
  beforeEach(() => {
    storage = new InMemoryLockProvider()
    provider = new FaultyLockProvider(storage)
    const recorded = recorder()
    heard = recorded.heard
    // Wrapped jobs without slots may run again at once, and are not warned of.
    executor = new LockingTaskExecutor(provider, {
      listeners: [recorded.listener],
      defaultLockAtLeastFor: 0,
    })
  })
}
