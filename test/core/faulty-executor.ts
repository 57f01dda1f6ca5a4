import { InMemoryLockProvider, LockingTaskExecutor } from '../../src/core/internal'
import { FaultyLockProvider } from './faulty-lock-provider'
import { recorder } from './recorder'

/** Locks in memory, before them a provider that fails when it is told to, and an executor whose events are heard. */
export function faultyExecutor() {
  const storage = new InMemoryLockProvider()
  const provider = new FaultyLockProvider(storage)
  const { listener, heard } = recorder()
  return { storage, provider, heard, executor: new LockingTaskExecutor(provider, { listeners: [listener] }) }
}
