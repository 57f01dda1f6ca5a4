import { beforeEach } from '@jest/globals'
import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { FaultyLockProvider } from './faulty-lock-provider'
import { recorder } from './recorder'

/** Locks in memory. */
export let storage: InMemoryLockProvider
/** Before them, and fails when it is told to. */
export let provider: FaultyLockProvider
export let executor: LockingTaskExecutor
/** The events of the executor. */
export let heard: string[]

/** Makes these anew for each test of the file or block that calls this. */
export function useFaultyExecutor(): void {
  beforeEach(() => {
    storage = new InMemoryLockProvider()
    provider = new FaultyLockProvider(storage)
    const recorded = recorder()
    heard = recorded.heard
    executor = new LockingTaskExecutor(provider, { listeners: [recorded.listener] })
  })
}
