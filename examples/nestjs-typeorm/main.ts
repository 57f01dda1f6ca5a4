import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { TypeOrmModule } from '@nestjs/typeorm'
import { CronTime } from 'cron'
import { activeLock } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'

@Injectable()
class Reports {
  @Cron('*/2 * * * * *')
  // keepAlive extends the lock, so only a crash leaves it held, and then for a minute at most.
  @SchedulerLock({ name: 'report', lockAtMostFor: '1m', keepAlive: true })
  async send(): Promise<void> {
    await sendReport(activeLock()?.signal)
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    TypeOrmModule.forRoot(dataSource.options),
    ShedLockModule.forRoot({ lockProvider: typeOrmLockProvider, cronTime: CronTime }),
  ],
  providers: [Reports],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule)
  // So that SIGTERM waits for the running task and frees its lock.
  app.enableShutdownHooks()
  console.log('ready')
}

void main()
