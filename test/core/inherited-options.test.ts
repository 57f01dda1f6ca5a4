import { describe, expect, it } from '@jest/globals'
import {
  executeOnce,
  InMemoryLockProvider,
  leaderElection,
  LockingTaskExecutor,
  type LockConfiguration,
} from '../../src/core/internal'
import { promiseWithResolvers } from '../promise-with-resolvers'

const inherited = <Options extends object>(options: Options): Options => Object.create(options) as Options

describe('options that are inherited from a prototype', () => {
  const lock = { name: 'job', lockAtMostFor: '1h' }

  it('configure a lock', async () => {
    const provider = new InMemoryLockProvider()
    expect(await provider.lock(inherited(lock))).toMatchObject({ name: 'job' })
    const aborted = inherited({ ...lock, signal: AbortSignal.abort('enough') })
    await expect(provider.lock(aborted)).rejects.toBe('enough')
  })

  it('configure an executor and its tasks', async () => {
    const provider = new InMemoryLockProvider()
    const executor = new LockingTaskExecutor(provider, inherited({ defaultLockAtMostFor: '1h' }))
    const configuration = inherited({ name: 'job', onSkip: 'throw' as const })
    await executor.executeWithLock(configuration, async () => {
      const other = new LockingTaskExecutor(provider)
      await expect(provider.lock(lock)).resolves.toBeUndefined()
      await other.shutdown()
      const skipped = other.executeWithLock(inherited({ ...lock, onSkip: 'throw' as const }), () => 1)
      await expect(skipped).rejects.toMatchObject({ code: 'SHUTDOWN' })
    })
  })

  it('configure a wrapped task', async () => {
    const executor = new LockingTaskExecutor(new InMemoryLockProvider())
    const slot = () => new Date('2026-11-21T03:00:00Z')
    const run = executor.wrap(inherited({ ...lock, slot }), () => 1)
    expect(await run()).toEqual({ executed: true, value: 1 })
    expect(await run()).toEqual({ executed: false, reason: 'already-run' })
    const aborted = executor.wrap(inherited({ ...lock, signal: AbortSignal.abort() }), () => 1)
    expect(await aborted()).toEqual({ executed: false, reason: 'aborted' })
  })

  it('configure executeOnce', async () => {
    const provider = new InMemoryLockProvider()
    const once = inherited({ name: 'job', slot: new Date('2026-11-21T03:00:00Z') })
    expect(await executeOnce(provider, once, () => 1)).toEqual({ executed: true, value: 1 })
    expect(await executeOnce(provider, once, () => 1)).toEqual({ executed: false, reason: 'already-run' })
    const aborted = inherited({ name: 'other', signal: AbortSignal.abort() })
    await expect(executeOnce(provider, aborted, () => 1)).rejects.toMatchObject({ code: 'SKIPPED' })
  })

  it('configure a leader election', async () => {
    const elected = promiseWithResolvers()
    const callbacks = inherited({
      onElected() {
        elected.resolve()
      },
    })
    const election = leaderElection(new InMemoryLockProvider(), inherited(lock), callbacks)
    await elected.promise
    await election.shutdown()
  })

  it('are refused if they are unknown', async () => {
    const misspelt = inherited({ ...lock, lockAtLeastfor: '1m' }) as LockConfiguration
    const refused = new InMemoryLockProvider().lock(misspelt)
    await expect(refused).rejects.toThrow("Unknown option 'lockAtLeastfor'")
  })
})
