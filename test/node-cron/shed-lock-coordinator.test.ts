import { setTimeout as sleep } from 'node:timers/promises'
import cron, { type RunCoordinator, type SkipReason } from 'node-cron'
import { describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider, LockError, type Skip } from '../../src/core/internal'
import { shedLockCoordinator } from '../../src/node-cron'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, describeBackends, testBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { providerOf } from '../core/provider-of'
import { eventually } from '../eventually'
import { afterTest } from '../after-test'
import { promiseWithResolvers } from '../promise-with-resolvers'

const backends = availableBackends().filter(({ shared }) => shared)

const SECOND = 1_000
const MIDNIGHT = Date.parse('2026-11-20T00:00:00.000Z')
const key = (second: number, task = 'report'): string =>
  `${task}:${new Date(MIDNIGHT + second * SECOND).toISOString()}`

describeBackends(backends)('node-cron on $name', (backend) => {
  test('runs each of 50 fires once, though one instance is late each time and the run is short', async () => {
    const { connect } = await openDatabase(backend, migrated())
    const instances = [
      { late: 0, coordinator: shedLockCoordinator(typeOrmLockProvider(await connect())) },
      { late: 60, coordinator: shedLockCoordinator(typeOrmLockProvider(await connect())) },
    ]
    const runs: number[] = []
    const fire = async (second: number): Promise<void> => {
      const each = instances.map(async ({ late, coordinator }) => {
        await sleep(late)
        if (!(await coordinator.shouldRun(key(second), 30_000))) return
        runs.push(second)
        await sleep(5)
        await coordinator.onComplete(key(second))
      })
      await Promise.all(each)
    }
    const fires = Array.from({ length: 50 }, (_, second) => second)
    for (const second of fires) await fire(second)
    expect(runs).toEqual(fires)
  })

  test('skips a fire while the run before lasts, and whatever else locks its name', async () => {
    const { connect } = await openDatabase(backend, migrated())
    const provider = typeOrmLockProvider(await connect())
    const [one, two] = [shedLockCoordinator(provider), shedLockCoordinator(provider)]
    expect(await one.shouldRun(key(0), 30_000)).toBe(true)
    expect(await two.shouldRun(key(1), 30_000)).toBe(false)
    expect(await provider.lock({ name: 'report', lockAtMostFor: '1m' })).toBeUndefined()
    expect(await two.shouldRun(key(1, 'another'), 30_000)).toBe(true)
    await one.onComplete(key(0))
    expect(await two.shouldRun(key(2), 30_000)).toBe(true)
  })

  test('runs no fire again, and none before one that ran, however late an instance is', async () => {
    const { connect } = await openDatabase(backend, migrated())
    const reasons: string[] = []
    const listeners = [{ onLockNotAcquired: ({ reason }: Skip) => void reasons.push(reason) }]
    const coordinator = shedLockCoordinator(typeOrmLockProvider(await connect()), { listeners })
    for (const second of [0, 60]) {
      expect(await coordinator.shouldRun(key(second), 30_000)).toBe(true)
      await coordinator.onComplete(key(second))
    }
    for (const second of [0, 30, 60]) expect(await coordinator.shouldRun(key(second), 30_000)).toBe(false)
    expect(reasons).toEqual(['already-run', 'already-run', 'already-run'])
  })

  test('at shutdown lets no more run, and waits until the locks are free', async () => {
    const { connect } = await openDatabase(backend, migrated())
    const provider = typeOrmLockProvider(await connect())
    const coordinator = shedLockCoordinator(provider)
    expect(await coordinator.shouldRun(key(0), 30_000)).toBe(true)
    const asked = coordinator.shouldRun(key(0, 'asked'), 30_000)
    const shutdown = coordinator.shutdown({ timeout: '20s' })
    expect(await asked).toBe(false)
    expect(await coordinator.shouldRun(key(0, 'late'), 30_000)).toBe(false)
    await coordinator.onComplete(key(0))
    expect(await shutdown).toEqual([])
    const another = shedLockCoordinator(provider)
    expect(await another.shouldRun(key(0, 'asked'), 30_000)).toBe(true)
    expect(await another.shouldRun(key(1), 30_000)).toBe(true)
    expect(await another.shutdown({ timeout: 1 })).toEqual(['asked', 'report'])
  })
})

describe('with node-cron itself', () => {
  interface Ticks {
    readonly ran: string[]
    readonly skipped: (SkipReason | undefined)[]
  }

  function everySecond(coordinator: RunCoordinator, name: string): Ticks {
    const ticks: Ticks = { ran: [], skipped: [] }
    const run = ({ date }: { date: Date }): void => void ticks.ran.push(date.toISOString())
    const silent = { info: jest.fn(), warn: jest.fn(), error: jest.fn(), debug: jest.fn() }
    const options = { name, distributed: true, runCoordinator: coordinator, logger: silent }
    const task = cron.schedule('* * * * * *', run, options)
    task.on('execution:skipped', ({ reason }) => void ticks.skipped.push(reason))
    afterTest(() => task.destroy())
    return ticks
  }

  test('a fire that the database cannot decide is skipped as coordinator-error', async () => {
    const broken = providerOf(() => Promise.reject(new LockError('TIMEOUT', 'No answer')))
    const ticks = everySecond(shedLockCoordinator(broken), 'job')
    await eventually(() => expect(ticks.skipped).toContain('coordinator-error'))
    expect(ticks.ran).toEqual([])
  })

  test('a run by hand does not ask the coordinator', async () => {
    const runCoordinator = { shouldRun: jest.fn(() => Promise.resolve(false)) }
    const options = { name: 'job', distributed: true, runCoordinator }
    const task = cron.createTask('0 0 1 1 *', () => 'ran', options)
    expect(await task.execute()).toBe('ran')
    expect(runCoordinator.shouldRun).not.toHaveBeenCalled()
    await task.destroy()
  })

  test('a run that is stopped while it waits for its random delay is not waited for once its lock is lost', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.99)
    const timers = jest.spyOn(globalThis, 'setTimeout')
    // node-cron keeps the timer of a delay after stop(), and with it the process for a minute.
    afterTest(() => {
      random.mockRestore()
      for (const { value } of timers.mock.results) clearTimeout(value as NodeJS.Timeout)
      timers.mockRestore()
    })
    const [acquired, lost] = [promiseWithResolvers(), promiseWithResolvers()]
    const listeners = [
      {
        onLockAcquired: () => acquired.resolve(),
        onLockLost: () => lost.resolve(),
      },
    ]
    const coordinator = shedLockCoordinator(new InMemoryLockProvider(), { listeners })
    const options = { name: 'delayed', distributed: true, distributedLease: 200, maxRandomDelay: 60_000 }
    let runs = 0
    const run = (): number => runs++
    const task = cron.schedule('* * * * * *', run, { ...options, runCoordinator: coordinator })
    afterTest(() => task.destroy())
    await acquired.promise
    await task.stop()
    await lost.promise
    expect(await coordinator.shutdown({ timeout: '1h' })).toEqual([])
    expect(runs).toBe(0)
  })

  const some = backends.slice(0, 1)

  testBackends(some)(
    'an instance that is 200 ms late on $name runs nothing again, and misses nothing',
    async (backend) => {
      const { connect } = await openDatabase(backend, migrated())
      // A scheduler on a busy machine may itself leave out a second. What it asked for is what has to run.
      const asked = new Set<string>()
      const instance = async (late: number): Promise<RunCoordinator> => {
        const coordinator = shedLockCoordinator(typeOrmLockProvider(await connect()))
        return {
          shouldRun: async (fire, ttlMs) => {
            asked.add(fire.replace('a:job:', ''))
            await sleep(late)
            return coordinator.shouldRun(fire, ttlMs)
          },
          onComplete: (fire) => coordinator.onComplete(fire),
        }
      }
      const fires = Number(process.env['TICKS'] ?? 5)
      const ticks = [everySecond(await instance(0), 'a:job'), everySecond(await instance(200), 'a:job')]
      const ran = (): string[] => ticks.flatMap((each) => each.ran).sort()
      const timeout = fires * SECOND + 60_000
      // One more, so that the late instance has had its say about the last one that counts.
      await eventually(() => expect(ran().length).toBeGreaterThan(fires), { timeout, interval: 100 })
      expect(ran().slice(0, fires)).toEqual([...asked].sort().slice(0, fires))
    },
  )
})

describe('what can never work', () => {
  const provider = new InMemoryLockProvider()

  test.each(['report', ':2026-11-20T00:00:00.000Z', 'report:1234567890123456789012'])(
    'is refused: the key %s',
    async (wrong) => {
      await expect(shedLockCoordinator(provider).shouldRun(wrong, 1_000)).rejects.toMatchObject({
        code: 'INVALID_CONFIGURATION',
      })
    },
  )
})
