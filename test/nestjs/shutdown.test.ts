import { Injectable, Logger } from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { DataSource } from 'typeorm'
import { expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { availableBackends, testBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { startApplication } from './application'

function signal(): AbortSignal {
  const lock = activeLock()
  if (!lock) throw new Error('not locked')
  return lock.signal
}

@Injectable()
class Jobs {
  readonly started = promiseWithResolvers<AbortSignal>()
  readonly stubborn = promiseWithResolvers<undefined>()

  @SchedulerLock({ name: 'listening', lockAtMostFor: '1m' })
  async listening(): Promise<string | undefined> {
    const stop = signal()
    this.started.resolve(stop)
    await new Promise((resolve) => stop.addEventListener('abort', resolve))
    stop.throwIfAborted()
    return 'not stopped'
  }

  @SchedulerLock({ name: 'stubborn', lockAtMostFor: '1m' })
  async notListening(): Promise<void> {
    this.started.resolve(signal())
    await this.stubborn.promise
  }
}

testBackends(availableBackends().filter(({ name }) => name === 'sqlite'))(
  'at shutdown runs are told to stop, and their locks are freed before TypeORM closes its pool, on $name',
  async (backend) => {
    const { database, dataSource: other } = await openDatabase(backend, migrated())
    const application = await startApplication({
      imports: [
        TypeOrmModule.forRoot(database.typeOrm),
        ShedLockModule.forRootAsync({
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => ({
            lockProvider: typeOrmLockProvider(dataSource),
            shutdown: { timeout: '20s', abortAfter: 0 },
          }),
        }),
      ],
      providers: [Jobs],
    })
    const jobs = application.get(Jobs)
    const run = jobs.listening()
    run.catch(() => undefined)
    await jobs.started.promise
    const configuration = { name: 'listening', lockAtMostFor: '1m' }
    expect(await typeOrmLockProvider(other).lock(configuration)).toBeUndefined()

    await application.close()
    await expect(run).rejects.toMatchObject({ code: 'SHUTDOWN', lockName: 'listening' })
    expect(await typeOrmLockProvider(other).lock(configuration)).toBeDefined()
    expect(await jobs.listening()).toBeUndefined()
  },
)

test('at shutdown a run that does not stop is waited for only so long, and named', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined)
  const application = await startApplication({
    imports: [
      ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider(), shutdown: { timeout: 20 } }),
    ],
    providers: [Jobs],
  })
  const jobs = application.get(Jobs)
  const run = jobs.notListening()
  const stop = await jobs.started.promise
  await application.close()
  expect(stop.reason).toMatchObject({ code: 'SHUTDOWN' })
  expect(warn.mock.lastCall?.[0]).toContain('stubborn')
  jobs.stubborn.resolve(undefined)
  await run
})
