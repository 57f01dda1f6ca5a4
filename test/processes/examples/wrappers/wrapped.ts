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

const cron = Cron('*/2 * * * * *')
const lock = (name: string): MethodDecorator =>
  SchedulerLock({ name, lockAtMostFor: '14m', untilSucceeded: true, catchUp: '1h' }) as MethodDecorator

/** The decorators of each job, from the first line down. */
const JOBS: Record<string, MethodDecorator[]> = {
  nothing: [cron, lock('nothing')],
  'nothing, above': [lock('nothing, above'), cron],
}
const WRAPPERS = { cls: UseCls() as MethodDecorator, transactional: Transactional() }
for (const [name, wrapper] of Object.entries(WRAPPERS)) {
  JOBS[`${name}, between`] = [cron, wrapper, lock(`${name}, between`)]
  JOBS[`${name}, above`] = [wrapper, cron, lock(`${name}, above`)]
  JOBS[`${name}, below`] = [cron, lock(`${name}, below`), wrapper]
}

@Injectable()
class Jobs {}

for (const [name, decorators] of Object.entries(JOBS)) {
  const method = { value: async () => {}, writable: true, configurable: true }
  const decorated = Reflect.decorate(decorators, Jobs.prototype, name, method)
  Object.defineProperty(Jobs.prototype, name, decorated ?? method)
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

console.log('sentry', Symbol.for('sentry.nestjs.wrapped') in Reflect.get(Jobs.prototype, 'nothing'))
initializeTransactionalContext()
addTransactionalDataSource(dataSource)
void NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'], abortOnError: false })
