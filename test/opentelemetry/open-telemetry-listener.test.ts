import { metrics } from '@opentelemetry/api'
import type { Histogram } from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { LockError } from '../../src/core/errors'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { openTelemetryListener } from '../../src/opentelemetry/open-telemetry-listener'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { migrated, openMemory } from '../backends/open-database'
import { everyEvent } from '../core/every-event'
import { useFaultyExecutor } from '../core/faulty-executor'
import { exportedMetrics, type Exported } from './exported-metrics'

const job = { name: 'job', lockAtMostFor: '10m' }
let meterProvider: Exported['meterProvider']
let exported: Exported['exported']

const world = useFaultyExecutor()

beforeEach(() => {
  ;({ meterProvider, exported } = exportedMetrics())
})

afterEach(async () => {
  metrics.disable()
  await meterProvider.shutdown()
})

const listenedTo = (options: object = { meterProvider }) =>
  new LockingTaskExecutor(world.provider, { listeners: [openTelemetryListener(options)] })

/** All values as `metric{attributes}`: numbers, and for the histogram how often it was recorded. */
async function measured(): Promise<Record<string, number>> {
  const points = (await exported()).flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => [
      `${descriptor.name}{${Object.values(attributes).join(',')}}`,
      typeof value === 'number' ? value : (value as Histogram).count,
    ]),
  )
  return Object.fromEntries(points) as Record<string, number>
}

describe('the OpenTelemetry listener', () => {
  it('measures each event, by the names of ShedLock', async () => {
    const executor = listenedTo()
    // A task may fail with nothing.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    await executor.executeWithLock(job, () => Promise.reject()).catch(() => undefined)
    await everyEvent(executor, world)
    expect(await measured()).toEqual({
      'shedlock.lock.attempts{job}': 6,
      'shedlock.lock.acquired{job}': 4,
      'shedlock.lock.not.acquired{job,held}': 1,
      'shedlock.lock.failed{job,DATABASE_ERROR}': 1,
      'shedlock.lock.extended{job}': 1,
      'shedlock.lock.extend.failed{job,TIMEOUT}': 1,
      'shedlock.lock.lost{job}': 1,
      'shedlock.lock.unlock.failed{job,DATABASE_ERROR}': 1,
      'shedlock.execution.duration{job}': 2,
      'shedlock.execution.duration{job,Error}': 1,
      'shedlock.execution.duration{job,_OTHER}': 1,
      'shedlock.execution.active{job}': 0,
    })
  })

  it('measures the age of each lock but those never acquired, and reads the table only when metrics are collected', async () => {
    const lockProvider = typeOrmLockProvider(await openMemory(migrated()))
    await lockProvider.table.pause('paused', { duration: '1h', reason: 'none' })
    await lockProvider.lock(job)
    const list = jest.spyOn(lockProvider.table, 'list')
    openTelemetryListener({ meterProvider, lockProvider })
    expect(list).not.toHaveBeenCalled()
    const first = await measured()
    expect(first).toMatchObject({ 'shedlock.lock.age{job}': expect.any(Number) })
    expect(Object.keys(first).join()).not.toContain('paused')
    list.mockRejectedValueOnce(new LockError('TIMEOUT', 'no answer'))
    // No answer is no error of the app.
    await measured()
    expect(list).toHaveBeenCalledTimes(2)
  })

  it('tells how the last run ended, and forgets it at the next one and with the row', async () => {
    const lockProvider = typeOrmLockProvider(await openMemory(migrated()))
    openTelemetryListener({ meterProvider, lockProvider })
    const lastRun = async () =>
      Object.entries(await measured()).flatMap(([name, value]) =>
        value && name.includes('last.run') ? name : [],
      )
    for (const outcome of ['failed', 'succeeded'] as const) {
      const lock = await lockProvider.lock(job)
      expect(await lastRun()).toEqual([])
      await lock?.unlock({ outcome })
      expect(await lastRun()).toEqual([`shedlock.lock.last.run{job,${outcome}}`])
    }
    const [seen] = await lockProvider.table.list()
    const now = new Date()
    lockProvider.table.list = () =>
      Promise.resolve(seen ? [{ ...seen, now, lockedAt: new Date(now.getTime() - 7_200_000) }] : [])
    expect(await measured()).toMatchObject({ 'shedlock.lock.age{job}': 7_200 })
    lockProvider.table.list = () => Promise.resolve([])
    expect(await lastRun()).toEqual([])
  })

  it('reports for how long a job is missed', async () => {
    const lockProvider = typeOrmLockProvider(await openMemory(migrated()))
    await (await lockProvider.lock(job))?.unlock()
    const due = (after: Date): Date =>
      new Date(after.getTime() < Date.now() - 61_000 ? Date.now() - 61_000 : 9e15)
    openTelemetryListener({ meterProvider, lockProvider, jobs: { job: { due }, other: { due }, third: {} } })
    const missed = async () => Object.entries(await measured()).filter(([name]) => name.includes('missed'))
    expect(Object.fromEntries(await missed())).toEqual({
      'shedlock.lock.missed{job}': 0,
      'shedlock.lock.missed{other}': 0,
    })
    const [hourAgo, now] = [new Date(Date.now() - 7_200_000), new Date(Date.now() + 3_600_000)]
    const [seen] = await lockProvider.table.list()
    lockProvider.table.list = () =>
      Promise.resolve(seen ? [{ ...seen, now, lockedAt: hourAgo, lockUntil: hourAgo }] : [])
    const [[, seconds] = []] = await missed()
    // By the clock of the database.
    expect(seconds).toBeGreaterThan(3_600)
    // Of one that has never run, by the clock of this host.
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 7_200_000)
    lockProvider.table.list = () => Promise.resolve([])
    expect(Object.fromEntries(await missed())).toMatchObject({ 'shedlock.lock.missed{other}': 61 })
  })

  it('measures durations in seconds', async () => {
    const listener = openTelemetryListener({ meterProvider })
    const configuration = { name: 'job', lockAtMostFor: 600_000, lockAtLeastFor: 0 }
    listener.onTaskFinished?.({ name: 'job', configuration, duration: 1_500, outcome: 'succeeded' })
    const metrics = new Map((await exported()).map((metric) => [metric.descriptor.name, metric]))
    const { descriptor, dataPoints } = metrics.get('shedlock.execution.duration') ?? {}
    const buckets = expect.objectContaining({ boundaries: expect.arrayContaining([0.01, 7_200]) })
    expect(descriptor?.unit).toBe('s')
    expect(dataPoints?.[0]?.value).toMatchObject({ sum: 1.5, buckets })
  })

  it('shows named locks at 0 before they were ever used, and counts on from there', async () => {
    const executor = listenedTo({ meterProvider, jobs: { job: {} } })
    expect(await measured()).toEqual({
      'shedlock.lock.attempts{job}': 0,
      'shedlock.lock.acquired{job}': 0,
      'shedlock.lock.not.acquired{job,held}': 0,
      'shedlock.lock.extended{job}': 0,
      'shedlock.lock.lost{job}': 0,
      'shedlock.execution.active{job}': 0,
    })
    await executor.executeWithLock(job, () => 'done')
    expect(await measured()).toMatchObject({ 'shedlock.lock.attempts{job}': 1 })
  })

  it('measures by a global provider that is registered after it was made', async () => {
    const executor = listenedTo({ jobs: { job: {} } })
    metrics.setGlobalMeterProvider(meterProvider)
    await executor.executeWithLock(job, async () =>
      expect(await measured()).toMatchObject({ 'shedlock.execution.active{job}': 1 }),
    )
    expect(await measured()).toMatchObject({ 'shedlock.lock.attempts{job}': 1, 'shedlock.lock.lost{job}': 0 })
  })
})
