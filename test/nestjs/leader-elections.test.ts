import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common'
import { expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider, type ActiveLock, type LockError } from '../../src/core/internal'
import { LeaderElections } from '../../src/nestjs'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { afterTest } from '../after-test'
import { eventually } from '../eventually'
import { startWith } from './application'

@Injectable()
class Feed implements OnApplicationBootstrap {
  readonly elected = promiseWithResolvers<ActiveLock>()
  readonly stepDowns: unknown[] = []

  constructor(@Inject(LeaderElections) private readonly elections: LeaderElections) {}

  onApplicationBootstrap(): void {
    this.elections.join(
      { name: 'feed', lockAtMostFor: '1m', provider: 'other' },
      {
        onElected: (lock) => this.elected.resolve(lock),
        onStepDown: (reason) => this.stepDowns.push(reason),
      },
    )
  }
}

test('a service joins an election, and steps down when the application shuts down', async () => {
  const other = new InMemoryLockProvider()
  const locks = { lockProvider: new InMemoryLockProvider(), lockProviders: { other } }
  const application = await startWith(locks, Feed)
  const feed = application.get(Feed)
  const lock = await feed.elected.promise
  expect(lock.remaining()).toBeGreaterThan(0)
  expect(other.isLocked('feed')).toBe(true)
  await application.close()
  expect(other.isLocked('feed')).toBe(false)
  expect(feed.stepDowns.map((reason) => (reason as LockError).code)).toEqual(['SHUTDOWN'])
  expect(() =>
    application
      .get(LeaderElections)
      .join({ name: 'feed', lockAtMostFor: '1m', provider: 'none' }, { onElected: () => undefined }),
  ).toThrow("no lock provider 'none'")
})

test('a leader that does not end is waited for only so long, and named', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
  afterTest(() => warn.mockRestore())
  const lockProvider = new InMemoryLockProvider()
  const application = await startWith({ lockProvider, shutdownTimeout: 20 })
  const elections = application.get(LeaderElections)
  const [elected, work] = [promiseWithResolvers(), promiseWithResolvers()]
  const onElected = (): Promise<unknown> => {
    elected.resolve()
    return work.promise
  }
  elections.join({ name: 'stubborn', lockAtMostFor: '1m' }, { onElected })
  elections.join({ name: 'obedient', lockAtMostFor: '1m' }, { onElected: () => undefined })
  await elected.promise
  await application.close()
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/^Tasks or leaders did not end .*: stubborn$/)]])
  expect(lockProvider.isLocked('stubborn')).toBe(true)
  work.resolve()
  await eventually(() => expect(lockProvider.isLocked('stubborn')).toBe(false))
})

test('an election without listeners of its own has those of the module', async () => {
  const acquired = promiseWithResolvers<string>()
  const listeners = [{ onLockAcquired: ({ name }: { name: string }) => acquired.resolve(name) }]
  const application = await startWith({ lockProvider: new InMemoryLockProvider(), listeners })
  const election = { name: 'feed', lockAtMostFor: '1m', listeners: undefined }
  application.get(LeaderElections).join(election, { onElected: () => undefined })
  expect(await acquired.promise).toBe('feed')
})
