import 'reflect-metadata'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ScheduleModule } from '@nestjs/schedule'
import { CronTime } from 'cron'
import { ClsModule, UseCls } from 'nestjs-cls'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  Transactional,
} from 'typeorm-transactional'
import { Cron } from './cron.js'
import { dataSource } from './data-source.js'

const lock = (name: string): MethodDecorator =>
  SchedulerLock({ name, lockAtMostFor: '14m', untilSucceeded: true, catchUp: '1h' }) as MethodDecorator

@Injectable()
class Jobs {
  @Cron('*/2 * * * * *')
  @lock('nothing')
  async nothing(): Promise<void> {}

  @lock('nothing, above')
  @Cron('*/2 * * * * *')
  async nothingAbove(): Promise<void> {}

  @Cron('*/2 * * * * *')
  @UseCls()
  @lock('cls, between')
  async clsBetween(): Promise<void> {}

  @UseCls()
  @Cron('*/2 * * * * *')
  @lock('cls, above')
  async clsAbove(): Promise<void> {}

  @Cron('*/2 * * * * *')
  @lock('cls, below')
  @UseCls()
  async clsBelow(): Promise<void> {}

  @Cron('*/2 * * * * *')
  @Transactional()
  @lock('transactional, between')
  async transactionalBetween(): Promise<void> {}

  @Transactional()
  @Cron('*/2 * * * * *')
  @lock('transactional, above')
  async transactionalAbove(): Promise<void> {}

  @Cron('*/2 * * * * *')
  @lock('transactional, below')
  @Transactional()
  async transactionalBelow(): Promise<void> {}
}

@Module({
  imports: [
    ClsModule.forRoot({ global: true }),
    ScheduleModule.forRoot(),
    ShedLockModule.forRoot({
      lockProvider: typeOrmLockProvider(dataSource),
      cronTime: CronTime,
      warnOfUnlockedCrons: true,
    }),
  ],
  providers: [Jobs],
})
class AppModule {}

console.log('sentry', Symbol.for('sentry.nestjs.wrapped') in Jobs.prototype.nothing)
initializeTransactionalContext()
addTransactionalDataSource(dataSource)
void NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'], abortOnError: false })
