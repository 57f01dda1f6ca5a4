import assert from 'node:assert/strict'
import type { Type } from '@nestjs/common'
import { ScheduleModule } from '@nestjs/schedule'
import { describe, expect, jest, test } from '@jest/globals'
import { ShedLockModule } from '../../src/nestjs'
import { startApplication } from './application'
import type { Job, JobCase } from './job'
import { lockProvider } from './lock-provider'
import { eventually } from '../eventually'

const provisions = {
  'a class': (job: Type<Job>) => job,
  'a factory': (job: Type<Job>) => ({ provide: job, useFactory: () => new job() }),
  'a value': (job: Type<Job>) => ({ provide: job, useValue: new job() }),
}

/** A folder is compiled as its tsconfig.json says, so the path must not make it part of this one. */
function jobs(decorators: string): readonly JobCase[] {
  return jest.requireActual<{ jobs: readonly JobCase[] }>(`./${decorators}/jobs.ts`).jobs
}

describe.each(['legacy', 'standard'])('a scheduled method with %s decorators', (decorators) => {
  describe.each(jobs(decorators))('$how', ({ job }) => {
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
        const scheduled = application.get(job)
        await eventually(() => expect(scheduled.ranUnder.length).toBeGreaterThan(2))
        expect(new Set(scheduled.ranUnder)).toEqual(new Set(['job']))

        await using other = await eventually(async () => {
          const lock = await provider.lock({ name: 'job', lockAtMostFor: '1m' })
          assert(lock, 'somebody else has the lock')
          return lock
        })
        const ran = scheduled.ranUnder.length
        expect(await scheduled.run()).toBeUndefined()
        expect([other.name, scheduled.ranUnder.length]).toEqual(['job', ran])
      },
    )
  })
})
