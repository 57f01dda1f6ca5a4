import assert from 'node:assert/strict'
import { Injectable, type Provider } from '@nestjs/common'
import { Interval } from '@nestjs/schedule'
import { expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { eventually } from '../eventually'
import { startScheduler } from './application'
import { jobClass, type JobClass } from './job-class'

const every5Milliseconds = Interval(5)
const lock = SchedulerLock({ name: 'job' })
interface Noting {
  /** Every run notes its lock. */
  ranUnder?: (string | undefined)[]
}
const note = (self: Noting): void => void (self.ranUnder ??= []).push(activeLock()?.name)

function jobs(): readonly (readonly [how: string, job: JobClass, provider?: Provider])[] {
  const make = (...parts: Parameters<typeof jobClass>): JobClass => {
    const job = jobClass(...parts)
    Injectable()(job)
    return job
  }
  const below = make([lock, every5Milliseconds], note)
  const above = make([every5Milliseconds, lock], note)
  const callsSuper = (self: object): unknown => (above.prototype as InstanceType<JobClass>).run.call(self)
  return [
    ['@SchedulerLock @Interval', below],
    ['@Interval @SchedulerLock', above],
    ['@SchedulerLock @Interval, made by a factory', below, { provide: below, useFactory: () => new below() }],
    ['@Interval @SchedulerLock, as a value', above, { provide: above, useValue: new above() }],
    ['inherited', class extends above {}],
    ['overridden and locked again', make([every5Milliseconds, lock], note, below)],
    ['overridden, calls super', make([every5Milliseconds], callsSuper, above)],
  ]
}

test.each(jobs())('a scheduled method runs only under its lock: %s', async (_, job, jobProvider = job) => {
  const provider = new InMemoryLockProvider()
  const locks = { lockProvider: provider, defaultLockAtMostFor: '1m', defaultLockAtLeastFor: 0 }
  const application = await startScheduler(locks, jobProvider)
  const scheduled: InstanceType<JobClass> & Noting = application.get(job)
  await eventually(() => expect(scheduled.ranUnder?.length).toBeGreaterThan(2))
  expect(new Set(scheduled.ranUnder)).toEqual(new Set(['job']))

  await using other = await eventually(async () => {
    const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
    assert(lock, 'somebody else has the lock')
    return lock
  })
  const ran = scheduled.ranUnder?.length
  expect(await scheduled.run()).toBeUndefined()
  expect([other.name, scheduled.ranUnder?.length]).toEqual(['job', ran])
})
