import { Injectable, Module } from '@nestjs/common'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { expect, test } from '@jest/globals'
import { InMemoryLockProvider, type LockEvent } from '../../src/core/internal'
import { SchedulerLock, ShedLockModule } from '../../src/nestjs'
import { eventually } from '../eventually'
import { startApplication } from './application'

@Injectable()
class Reports {
  @Cron('* * * * * *')
  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  send(): Promise<void> {
    return Promise.resolve()
  }
}

@Module({ imports: [ScheduleModule.forRoot()] })
class OtherModule {}

test('Each further ScheduleModule.forRoot() fires every job again, and a slot runs once all the same', async () => {
  const [tried, ran]: [unknown[], unknown[]] = [[], []]
  const slotOf = ({ configuration }: LockEvent): unknown => configuration.slot
  const listeners = [
    {
      onLockAttempt: (event: LockEvent) => tried.push(slotOf(event)),
      onTaskStarted: (event: LockEvent) => ran.push(slotOf(event)),
    },
  ]
  await startApplication({
    imports: [
      ScheduleModule.forRoot(),
      OtherModule,
      ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider(), cronTime: CronTime, listeners }),
    ],
    providers: [Reports],
  })
  await eventually(() => expect(tried.length).toBeGreaterThanOrEqual(6))
  expect(tried.length - new Set(tried).size).toBeGreaterThanOrEqual(2)
  expect(ran.length).toBeGreaterThanOrEqual(2)
  expect(new Set(ran).size).toBe(ran.length)
})
