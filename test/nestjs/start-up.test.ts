import { Injectable, Scope } from '@nestjs/common'
import { Cron, Interval, Timeout } from '@nestjs/schedule'
import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import { migrated, openMemory } from '../backends/open-database'
import { providerOf } from '../core/provider-of'
import { eventually } from '../eventually'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { locks, loggedLines, startApplication, startWith } from './application'
import { startVirtualTime } from '../core/virtual-time'

const NEVER = '0 0 31 2 *'

let logged: string[]
beforeEach(() => {
  logged = loggedLines()
})

/** Instances with other data may compute other slots. */
const ZONES = `. Time-zone data: ${process.versions['tz'] ?? ''}`
const MEMORY = 'the memory of this process, which other instances do not see'
const places = (): string[] => logged.filter((line) => line.startsWith('log Locks go to'))

describe('Five seconds after its start the application checks its lock tables', () => {
  const faults = (): string[] => logged.filter((line) => line.startsWith('error'))

  beforeEach(() => {
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
  })

  const checked = async (...providers: SqlLockProvider[]): Promise<void> => {
    const checks = providers.map(({ table }) => jest.spyOn(table, 'check'))
    await jest.advanceTimersByTimeAsync(5_000)
    for (const check of checks) await Promise.allSettled([check.mock.results[0]?.value])
    await new Promise(setImmediate)
  }

  test('and says in which table its locks are, for each provider, but nothing before it has looked', async () => {
    const provider = typeOrmLockProvider(await openMemory(migrated()))
    const slow = { code: 'KEY_MISSING', severity: 'warning', message: 'It is slow.', fix: [] } as const
    jest.spyOn(provider.table, 'check').mockResolvedValueOnce([slow])
    await startWith({ lockProvider: provider, lockProviders: { audit: new InMemoryLockProvider() } })
    expect(places()).toEqual([])
    await checked(provider)
    expect(places()).toEqual([`log Locks go to the table shedlock (sqlite); ${MEMORY} for 'audit'${ZONES}`])
    expect(faults()).toEqual([])
  })

  test('and says of which lock provider one does not exist', async () => {
    const dataSource = await openMemory()
    const provider = typeOrmLockProvider(dataSource)
    const lockProviders = { audit: provider, fine: new InMemoryLockProvider() }
    const options = { lockProvider: () => provider, lockProviders }
    await startWith(options, { provide: 'client', useValue: dataSource })
    expect(faults()).toEqual([])
    await checked(provider)
    expect(faults()).toEqual([
      expect.stringMatching(/^error There is no lock table/),
      expect.stringMatching(/^error Lock provider 'audit': There is no lock table/),
    ])
    expect(places()).toEqual([])
  })

  test('and says why one could not be checked', async () => {
    const dataSource = await openMemory()
    const lockProvider = typeOrmLockProvider(dataSource)
    await dataSource.destroy()
    await startWith({ lockProvider })
    await checked(lockProvider)
    expect(faults()).toEqual([expect.stringMatching(/^error .*initialize/)])
  })

  test('and checks again while the database does not answer, but says so once', async () => {
    const provider = typeOrmLockProvider(await openMemory())
    const away = new LockError('DATABASE_ERROR', 'The database is away.')
    jest.spyOn(provider.table, 'check').mockRejectedValueOnce(away).mockRejectedValueOnce(away)
    await startWith({ lockProvider: provider })
    await checked(provider)
    expect(faults()).toEqual(['error The database is away.'])
    await jest.advanceTimersByTimeAsync(5_000)
    await eventually(() =>
      expect(faults().slice(1)).toEqual([expect.stringMatching(/^error There is no lock table/)]),
    )
  })

  test('unless it is closed by then, and says nothing if it is closed meanwhile', async () => {
    const provider = typeOrmLockProvider(await openMemory())
    const check = jest.spyOn(provider.table, 'check')
    await (await startWith({ lockProvider: provider })).close()
    await jest.advanceTimersByTimeAsync(5_000)
    expect(check).not.toHaveBeenCalled()
    const missing = { code: 'TABLE_MISSING', severity: 'error', message: 'There is none.', fix: [] } as const
    for (const found of [[], [missing]]) {
      const application = await startWith({ lockProvider: provider })
      const findings = promiseWithResolvers<Awaited<ReturnType<typeof provider.table.check>>>()
      check.mockReset().mockReturnValue(findings.promise)
      await jest.advanceTimersByTimeAsync(5_000)
      expect(check).toHaveBeenCalled()
      await application.close()
      findings.resolve(found)
      await new Promise(setImmediate)
      expect([...faults(), ...places()]).toEqual([])
    }
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

  test('it does for an application of a single instance, and elsewhere', async () => {
    startVirtualTime({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    await startWith({ allowInMemory: true })
    await jest.advanceTimersByTimeAsync(5_000)
    expect(places()).toEqual([`log Locks go to ${MEMORY}${ZONES}`])
    process.env['NODE_ENV'] = 'staging'
    await startWith({})
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

  test('causes a warning, also if a superclass has it', async () => {
    await startWith({ warnOfUnlockedCrons: true }, Heir)
    expect(unlocked()).toEqual(['Heir.again', 'Heir.everywhere', 'Heir.locked', 'Heir.own'])
    expect(warnings()[0]).toContain('Heir.again has @Interval without @SchedulerLock: every instance runs it')
    expect(warnings()[1]).toContain('Heir.everywhere has @Cron without')
  })

  test('causes no warning if `except` names it', async () => {
    const except = ['Jobs.everywhere', 'Jobs.again']
    await startWith({ warnOfUnlockedCrons: { except } }, Jobs)
    expect(unlocked()).toEqual([])
    // By default there are none at all.
    await startWith({}, Jobs)
    expect(unlocked()).toEqual([])
  })

  test('causes a warning in a controller, and in a class of the request scope without creating an instance', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {
      @Cron(NEVER)
      run(): string {
        return 'ran'
      }
    }
    const imports = [locks({ warnOfUnlockedCrons: true })]
    await startApplication({ imports, providers: [OfRequest], controllers: [Jobs] })
    expect(unlocked()).toEqual(['Jobs.again', 'Jobs.everywhere', 'OfRequest.run'])
  })
})
