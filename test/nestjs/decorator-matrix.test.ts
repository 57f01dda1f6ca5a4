import assert from 'node:assert/strict'
import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common'
import { Interval, ScheduleModule } from '@nestjs/schedule'
import { describe, expect, test } from '@jest/globals'
import { activeLock } from '../../src/core/internal'
import { SchedulerLock, ShedLockModule } from '../../src/nestjs'
import { eventually } from '../eventually'
import { startApplication } from './application'
import { jobClassWith, type JobClass, type MakeJob } from './job-class'
import { lockProvider } from './lock-provider'

const provisions = {
  'a class': (job: JobClass) => job,
  'a factory': (job: JobClass) => ({ provide: job, useFactory: () => new job() }),
  'a value': (job: JobClass) => ({ provide: job, useValue: new job() }),
}

const every5Milliseconds = Interval(5)
const lock = SchedulerLock({ name: 'job' }) as MethodDecorator
/** How the decorators can be beside each other, the uppermost first. */
const BESIDE: Readonly<Record<string, readonly MethodDecorator[]>> = {
  '@Interval @SchedulerLock': [every5Milliseconds, lock],
  '@SchedulerLock @Interval': [lock, every5Milliseconds],
}
/** Nest's own combinations are for legacy decorators. */
const COMBINED: typeof BESIDE = {
  '@SchedulerLock between others': [SetMetadata('a', 1), lock, every5Milliseconds, SetMetadata('b', 2)],
  'applyDecorators(Interval, SchedulerLock)': [applyDecorators(every5Milliseconds, lock)],
  'applyDecorators(SchedulerLock, Interval)': [applyDecorators(lock, every5Milliseconds)],
}

interface Noting {
  /** Every run notes its lock. */
  ranUnder?: (string | undefined)[]
}
const note = (self: Noting): void => void (self.ranUnder ??= []).push(activeLock()?.name)

function jobs(decorators: string): readonly (readonly [how: string, job: JobClass])[] {
  const make: MakeJob = (...parts) => {
    const job = jobClassWith(decorators)(...parts)
    Injectable()(job)
    return job
  }
  const all = Object.entries(decorators === 'legacy' ? { ...BESIDE, ...COMBINED } : BESIDE)
  const below = make([lock, every5Milliseconds], note)
  const above = make([every5Milliseconds, lock], note)
  return [
    ...all.map(([how, parts]) => [how, make(parts, note)] as const),
    ...all.map(([how, parts]) => [`${how}, inherited`, class extends make(parts, note) {}] as const),
    ['overridden and locked again', make([every5Milliseconds, lock], note, below)],
    [
      'overridden, calls super',
      make([every5Milliseconds], (self) => (above.prototype as InstanceType<JobClass>).run.call(self), above),
    ],
  ]
}

describe.each(['legacy', 'standard'])('a scheduled method with %s decorators', (decorators) => {
  describe.each(jobs(decorators))('%s', (_, job) => {
    test.each(Object.entries(provisions))(
      'runs under its lock, and not when somebody else holds it, in %s',
      async (_, provision) => {
        const provider = await lockProvider()
        const application = await startApplication({
          imports: [
            ScheduleModule.forRoot(),
            ShedLockModule.forRoot({ lockProvider: provider, defaultLockAtMostFor: '1m' }),
          ],
          providers: [provision(job)],
        })
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
      },
    )
  })
})
