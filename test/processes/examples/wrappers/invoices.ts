import 'reflect-metadata'
import { subscribe } from 'node:diagnostics_channel'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClsPluginTransactional,
  getTransactionToken,
  InjectTransactionHost,
  Transactional as ClsTransactional,
  TransactionHost,
} from '@nestjs-cls/transactional'
import { TransactionalAdapterPrisma } from '@nestjs-cls/transactional-adapter-prisma'
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm'
import { ClsModule, UseCls } from 'nestjs-cls'
import type { LockEvent, LockProvider } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { guard as guardOfPrisma, prismaLockProvider } from 'shedlock-orm/prisma'
import { guard, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { DataSource, type EntityManager } from 'typeorm'
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  Transactional,
} from 'typeorm-transactional'
import { dataSource } from './data-source.js'
import { prisma, type PrismaClient } from './prisma-client.js'

const insert = 'insert into invoices (name) values ($1)'

@Injectable()
class Invoices {
  constructor(
    @Inject(TransactionHost) private readonly host: TransactionHost<TransactionalAdapterTypeOrm>,
    @InjectTransactionHost('prisma')
    private readonly ofPrisma: TransactionHost<TransactionalAdapterPrisma<PrismaClient>>,
  ) {}

  @SchedulerLock({ name: 'typeorm-transactional', lockAtMostFor: '1m' })
  @Transactional()
  async write(): Promise<void> {
    await this.#write(dataSource.manager, 'typeorm-transactional')
  }

  @SchedulerLock({ name: 'nestjs-cls', lockAtMostFor: '1m' })
  @UseCls()
  @ClsTransactional()
  async writeWithCls(): Promise<void> {
    await this.#write(this.host.tx, 'nestjs-cls')
  }

  @SchedulerLock({ name: 'Prisma in nestjs-cls', lockAtMostFor: '1m', provider: 'prisma' })
  @UseCls()
  @ClsTransactional('prisma')
  async writeWithPrisma(): Promise<void> {
    await this.#writeWithPrisma('Prisma in nestjs-cls')
  }

  // The wrong order: the lock is released before the transaction commits.
  @Transactional()
  @SchedulerLock({ name: 'typeorm-transactional, wrong', lockAtMostFor: '1m' })
  async writeLate(): Promise<void> {
    await this.#write(dataSource.manager, 'typeorm-transactional, wrong')
  }

  @UseCls()
  @ClsTransactional()
  @SchedulerLock({ name: 'nestjs-cls, wrong', lockAtMostFor: '1m' })
  async writeLateWithCls(): Promise<void> {
    await this.#write(this.host.tx, 'nestjs-cls, wrong')
  }

  @UseCls()
  @ClsTransactional('prisma')
  @SchedulerLock({ name: 'Prisma in nestjs-cls, wrong', lockAtMostFor: '1m', provider: 'prisma' })
  async writeLateWithPrisma(): Promise<void> {
    await this.#writeWithPrisma('Prisma in nestjs-cls, wrong')
  }

  @UseCls()
  @ClsTransactional('prisma')
  async lockAndFail(locks: LockProvider): Promise<void> {
    await locks.lock({ name: 'Prisma in nestjs-cls, rolled back', lockAtMostFor: '1m' })
    throw new Error('rolled back')
  }

  async #writeWithPrisma(name: string): Promise<void> {
    await this.ofPrisma.tx.$executeRawUnsafe(insert, name)
    await guardOfPrisma(this.ofPrisma.tx)
  }

  async #write(manager: EntityManager, name: string): Promise<void> {
    await manager.query(insert, [name])
    await guard(manager)
  }
}

const PRISMA = 'PRISMA'

@Module({
  providers: [
    { provide: DataSource, useValue: dataSource },
    { provide: PRISMA, useValue: prisma },
  ],
  exports: [DataSource, PRISMA],
})
class DatabaseModule {}

// Long enough for the first connection of a busy machine: the wrong order waits for it.
const timeLimit = '2s'

let ofPrisma: LockProvider

@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      plugins: [
        new ClsPluginTransactional({
          imports: [DatabaseModule],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: DataSource }),
        }),
        new ClsPluginTransactional({
          connectionName: 'prisma',
          imports: [DatabaseModule],
          adapter: new TransactionalAdapterPrisma({ prismaInjectionToken: PRISMA }),
          enableTransactionProxy: true,
        }),
      ],
    }),
    ShedLockModule.forRootAsync({
      // This is the client, and becomes the transaction's within one.
      inject: [getTransactionToken('prisma')],
      useFactory: (client: PrismaClient) => ({
        lockProvider: typeOrmLockProvider(dataSource, { timeLimit }),
        lockProviders: { prisma: (ofPrisma = prismaLockProvider(client, { timeLimit })) },
      }),
    }),
  ],
  providers: [Invoices],
})
class AppModule {}

const observer = await new DataSource({
  type: 'postgres',
  url: process.env['DATABASE_URL'] ?? '',
}).initialize()
await observer.query('create table invoices (name varchar(64))')
/** What others see when the task has ended and the lock is still held. */
const seen: Promise<void>[] = []
subscribe('shedlock-orm:task-finished', (message) => {
  const { name } = message as LockEvent
  const look = async (): Promise<void> => {
    const rows = await observer.query<unknown[]>('select 1 from invoices where name = $1', [name])
    console.log('committed', name, rows.length === 1)
  }
  seen.push(look())
})
subscribe('shedlock-orm:unlock-failed', (message) => {
  const { name, error } = message as LockEvent & { error: Error }
  console.log('not released', name, error.message)
})
initializeTransactionalContext()
addTransactionalDataSource(dataSource)
const application = await NestFactory.createApplicationContext(AppModule, {
  logger: ['warn', 'error'],
  abortOnError: false,
})
const invoices = application.get(Invoices)
await invoices.write()
await invoices.writeWithCls()
await invoices.writeLate()
await invoices.writeLateWithCls()
await invoices.writeWithPrisma()
await invoices.writeLateWithPrisma()
const failure = await invoices.lockAndFail(ofPrisma!).catch((error: Error) => error.message)
const rolledBack = { name: 'Prisma in nestjs-cls, rolled back', lockAtMostFor: '1m' }
console.log(failure, (await ofPrisma!.lock(rolledBack)) === undefined)
await Promise.all(seen)
console.log('done')
