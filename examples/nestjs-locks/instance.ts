import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { TypeOrmModule } from '@nestjs/typeorm'
import { ShedLockModule } from 'shedlock-orm/nestjs'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { dataSource } from '../data-source'
import { sendReport } from '../report'
import { LocksModule, LocksStorage, OnOneInstance } from './locks'

@Injectable()
class Reports {
  @Cron('*/2 * * * * *')
  @OnOneInstance({ key: 'report' })
  async send(): Promise<void> {
    await sendReport()
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    TypeOrmModule.forRoot(dataSource.options),
    LocksModule.forRoot(),
    ShedLockModule.forRoot({ lockProvider: typeOrmLockProvider, locksStorage: LocksStorage }),
  ],
  providers: [Reports],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule)
  // So that at SIGTERM the lease is handed back, and another instance has the next tick.
  app.enableShutdownHooks()
  process.send?.('ready')
  process.once('disconnect', () => process.exit())
}

void main()
