import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import { PrismaPg } from '@prisma/adapter-pg'
import { CronTime } from 'cron'
import { activeLock } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { prismaLockProvider } from 'shedlock-orm/prisma'
import { sendReport } from '../report'
import { PrismaClient } from './generated/client'

@Injectable()
class PrismaService extends PrismaClient implements OnModuleDestroy {
  constructor() {
    const connectionString = process.env['DATABASE_URL']
    super({ adapter: new PrismaPg({ connectionString }) })
  }

  async onModuleDestroy(): Promise<void> {
    await this.$disconnect()
  }
}

@Module({ providers: [PrismaService], exports: [PrismaService] })
class PrismaModule {}

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
    PrismaModule,
    ShedLockModule.forRoot({ lockProvider: prismaLockProvider, cronTime: CronTime }),
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
