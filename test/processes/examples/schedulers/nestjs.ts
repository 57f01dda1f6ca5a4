import 'reflect-metadata'
import { Injectable, Module, type OnModuleInit } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule'
import { CronJob, CronTime } from 'cron'
import { LockingTaskExecutor, slotOf } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from './data-source.js'
import { sendReport } from './report.js'

@Injectable()
class Reports implements OnModuleInit {
  constructor(
    private readonly scheduler: SchedulerRegistry,
    private readonly executor: LockingTaskExecutor,
  ) {}

  @Cron('*/2 * * * * *', { timeZone: 'Europe/Berlin' })
  @SchedulerLock({ name: '@Cron', lockAtMostFor: '14m' })
  send(): Promise<void> {
    return sendReport()
  }

  onModuleInit(): void {
    const send = this.executor.wrap(
      {
        name: 'SchedulerRegistry',
        lockAtMostFor: '14m',
        slot: (job: CronJob) => slotOf(job.cronTime),
        onError: console.error,
      },
      () => sendReport(),
    )
    const job = CronJob.from({
      cronTime: '*/2 * * * * *',
      onTick() {
        return send(this)
      },
    })
    this.scheduler.addCronJob('report', job)
    job.start()
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    ShedLockModule.forRoot({ lockProvider: typeOrmLockProvider(dataSource), cronTime: CronTime }),
  ],
  providers: [Reports],
})
class AppModule {}

void NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] })
