import { Injectable, Scope } from '@nestjs/common'
import { Cron, Interval, Timeout } from '@nestjs/schedule'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { migrated, openMemory } from '../backends/open-database'
import { eventually } from '../eventually'
import { providerOf } from '../core/provider-of'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { loggedLines, startWith } from './application'

const NEVER = '0 0 31 2 *'

let logged: string[]
beforeEach(() => {
  logged = loggedLines()
})

const places = (): string[] => logged.filter((line) => line.startsWith('log Locks go to'))

describe('At its start the application says where its locks are', () => {
  test('in which table, for each provider', async () => {
    const provider = typeOrmLockProvider(await openMemory(migrated()))
    await startWith({ lockProvider: provider, lockProviders: { audit: provider } })
    expect(places()).toEqual([
      "log Locks go to the table shedlock (sqlite); the table shedlock (sqlite) for 'audit'",
    ])
  })
})

describe('At its start the application checks its lock tables', () => {
  const errors = (): string[] => logged.filter((line) => /^(error|warn)/.test(line))

  test('and says once, without waiting, that one does not exist', async () => {
    const dataSource = await openMemory()
    const provider = typeOrmLockProvider(dataSource)
    const options = { lockProvider: () => provider, lockProviders: { audit: provider } }
    await startWith(options, { provide: 'client', useValue: dataSource })
    await eventually(() => expect(errors()).toEqual([expect.stringMatching(/^error There is no lock table/)]))
  })

  test('and says why one could not be checked', async () => {
    const dataSource = await openMemory()
    const lockProvider = typeOrmLockProvider(dataSource)
    await dataSource.destroy()
    await startWith({ lockProvider })
    await eventually(() => expect(errors()).toEqual([expect.stringMatching(/^error .*initialize/)]))
  })

  test('and says nothing of a right one, nor of locks in memory', async () => {
    const provider = typeOrmLockProvider(await openMemory(migrated()))
    const check = jest.spyOn(provider.table, 'check')
    await startWith({ lockProvider: provider, lockProviders: { memory: new InMemoryLockProvider() } })
    expect(await check.mock.results[0]?.value).toEqual([])
    expect(errors()).toEqual([])
  })

  test('and its shutdown waits for the check, and says nothing of it', async () => {
    const provider = typeOrmLockProvider(await openMemory())
    const check = promiseWithResolvers<Awaited<ReturnType<typeof provider.table.check>>>()
    jest.spyOn(provider.table, 'check').mockReturnValue(check.promise)
    const application = await startWith({ lockProvider: provider })
    const closed = jest.fn()
    const closing = application.close().then(closed)
    await new Promise(setImmediate)
    expect(closed).not.toHaveBeenCalled()
    check.resolve([{ code: 'TABLE_MISSING', severity: 'error', message: 'There is none.', fix: [] }])
    await closing
    expect(errors()).toEqual([])
  })
})

describe('In production', () => {
  beforeEach(() => {
    const before = process.env['NODE_ENV']
    process.env['NODE_ENV'] = 'production'
    afterTest(() => (process.env['NODE_ENV'] = before))
  })

  test.each([
    { lockProvider: new InMemoryLockProvider() },
    {
      lockProvider: providerOf(() => Promise.resolve({ reason: 'held' })),
      lockProviders: { audit: new InMemoryLockProvider() },
    },
  ])('it does not start with locks in memory', async (options) => {
    await expect(startWith(options)).rejects.toThrow(/in memory, and NODE_ENV is production/)
  })

  test('it does for an application of a single instance', async () => {
    await startWith({ lockProvider: new InMemoryLockProvider(), allowInMemory: true })
    expect(places()).toEqual(['log Locks go to the memory of this process, which other instances do not see'])
  })
})

@Injectable()
class Jobs {
  @Cron(NEVER)
  @SchedulerLock({ name: 'locked', lockAtMostFor: '1m' })
  locked(): string {
    return 'ran'
  }

  @Cron(NEVER)
  everywhere(): string {
    return 'ran'
  }

  @Interval(1_000_000)
  again(): string {
    return 'ran'
  }

  @Timeout(1_000_000)
  onceForEachInstance(): string {
    return 'ran'
  }

  get broken(): never {
    throw new Error('looked at')
  }
}

@Injectable()
class Heir extends Jobs {
  @Cron(NEVER)
  own(): string {
    return 'ran'
  }

  @Cron(NEVER)
  override locked(): string {
    return 'ran'
  }
}

describe('a method with @Cron or @Interval and without @SchedulerLock', () => {
  const warnings = (): string[] => logged.filter((line) => line.startsWith('warn'))
  const unlocked = (): string[] => warnings().map((line) => line.split(' ')[1] ?? '')
  const provider = new InMemoryLockProvider()

  test('causes a warning, also if a superclass has it', async () => {
    await startWith({ lockProvider: provider, warnOfUnlockedCrons: true }, Heir)
    expect(unlocked()).toEqual(['Heir.again', 'Heir.everywhere', 'Heir.locked', 'Heir.own'])
    expect(warnings()[0]).toContain('Heir.again has @Interval without @SchedulerLock: every instance runs it')
    expect(warnings()[1]).toContain('Heir.everywhere has @Cron without')
  })

  test('causes no warning if `except` names it', async () => {
    const except = ['Jobs.everywhere', 'Jobs.again']
    await startWith({ lockProvider: provider, warnOfUnlockedCrons: { except } }, Jobs)
    expect(unlocked()).toEqual([])
    // By default there are none at all.
    await startWith({ lockProvider: provider }, Jobs)
    expect(unlocked()).toEqual([])
  })

  test('causes a warning in a class of the request scope, without creating an instance', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {
      @Cron(NEVER)
      run(): string {
        return 'ran'
      }
    }
    await startWith({ lockProvider: provider, warnOfUnlockedCrons: true }, OfRequest)
    expect(unlocked()).toEqual(['OfRequest.run'])
  })
})
