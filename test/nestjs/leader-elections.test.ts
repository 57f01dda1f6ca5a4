import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import { expect, test } from '@jest/globals'
import { InMemoryLockProvider, type ActiveLock, type LockError } from '../../src/core'
import { LeaderElections, ShedLockModule } from '../../src/nestjs'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { startApplication } from './application'

@Injectable()
class Feed implements OnApplicationBootstrap {
  readonly elected = promiseWithResolvers<ActiveLock>()
  readonly deposed: unknown[] = []

  constructor(@Inject(LeaderElections) private readonly elections: LeaderElections) {}

  onApplicationBootstrap(): void {
    this.elections.stand(
      { name: 'feed', lockAtMostFor: '1m', provider: 'other' },
      {
        onElected: (lock) => {
          this.elected.resolve(lock)
        },
        onDeposed: (reason) => this.deposed.push(reason),
      },
    )
  }
}

test('a service stands for leader, and gives way when the application shuts down', async () => {
  const other = new InMemoryLockProvider()
  const application = await startApplication({
    imports: [ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider(), lockProviders: { other } })],
    providers: [Feed],
  })
  const feed = application.get(Feed)
  const lock = await feed.elected.promise
  expect(lock.remaining()).toBeGreaterThan(0)
  expect(other.isLocked('feed')).toBe(true)
  await application.close()
  expect(other.isLocked('feed')).toBe(false)
  expect(feed.deposed.map((reason) => (reason as LockError).code)).toEqual(['SHUTDOWN'])
  expect(() =>
    application
      .get(LeaderElections)
      .stand({ name: 'feed', lockAtMostFor: '1m', provider: 'none' }, { onElected: () => undefined }),
  ).toThrow("no lock provider 'none'")
})
