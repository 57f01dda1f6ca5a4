import 'reflect-metadata'
import { subscribe } from 'node:diagnostics_channel'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClsPluginTransactional,
  getTransactionToken,
  InjectTransactionHost,
  Transactional as ClsTransactional,
  TransactionHost,
} from '@nestjs-cls/transactional'
import { TransactionalAdapterPrisma } from '@nestjs-cls/transactional-adapter-prisma'
import { ClsModule, UseCls } from 'nestjs-cls'
import type { LockEvent, LockProvider } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { guard as guardOfPrisma, prismaLockProvider } from 'shedlock-orm/prisma'
import { guard, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { DataSource } from 'typeorm'
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  Transactional,
} from 'typeorm-transactional'
import { dataSource } from './data-source.js'
import { prisma, type PrismaClient } from './prisma-client.js'

const insert = 'insert into invoices (name) values ($1)'

const [TYPEORM, CLS] = ['typeorm-transactional', 'Prisma in nestjs-cls']
const lockOf = (name: string) => ({ name, lockAtMostFor: '1m' })

@Injectable()
class Invoices {
  constructor(
    @InjectTransactionHost()
    private readonly ofPrisma: TransactionHost<TransactionalAdapterPrisma<PrismaClient>>,
  ) {}

  @SchedulerLock(lockOf(TYPEORM))
  @Transactional()
  async write(): Promise<void> {
    await this.#write(TYPEORM)
  }

  @SchedulerLock({ ...lockOf(CLS), provider: 'prisma' })
  @UseCls()
  @ClsTransactional()
  async writeWithPrisma(): Promise<void> {
    await this.ofPrisma.tx.$executeRawUnsafe(insert, CLS)
    await guardOfPrisma(this.ofPrisma.tx)
  }

  // The wrong order: the lock is released before the transaction commits.
  @Transactional()
  @SchedulerLock(lockOf(`${TYPEORM}/wrong`))
  async writeLate(): Promise<void> {
    await this.#write(`${TYPEORM}/wrong`)
  }

  @UseCls()
  @ClsTransactional()
  async lockAndFail(locks: LockProvider): Promise<void> {
    await locks.lock(lockOf('rolled back'))
    throw new Error('rolled back')
  }

  async #write(name: string): Promise<void> {
    await dataSource.manager.query(insert, [name])
    await guard(dataSource.manager)
  }
}

const PRISMA = 'PRISMA'

@Module({ providers: [{ provide: PRISMA, useValue: prisma }], exports: [PRISMA] })
class DatabaseModule {}

// The wrong order waits for this long.
const timeLimit = '2s'
// On a busy machine Prisma's first query takes seconds.
const prismaTimeLimit = '1m'

let ofPrisma: LockProvider

@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      plugins: [
        new ClsPluginTransactional({
          imports: [DatabaseModule],
          adapter: new TransactionalAdapterPrisma({ prismaInjectionToken: PRISMA }),
          enableTransactionProxy: true,
        }),
      ],
    }),
    ShedLockModule.forRootAsync({
      // This is the client, and becomes the transaction's within one.
      inject: [getTransactionToken()],
      useFactory: (client: PrismaClient) => ({
        lockProvider: typeOrmLockProvider(dataSource, { timeLimit }),
        lockProviders: { prisma: (ofPrisma = prismaLockProvider(client, { timeLimit: prismaTimeLimit })) },
      }),
    }),
  ],
  providers: [Invoices],
})
class AppModule {}

const url = process.env['DATABASE_URL'] ?? ''
const observer = await new DataSource({ type: 'postgres', url }).initialize()
await observer.query('create table invoices (name varchar(64))')
/** What others see when the task has ended and the lock is still held. */
const seen: Promise<void>[] = []
subscribe('shedlock-orm:task-finished', (message) => {
  const { name } = message as LockEvent
  const rows = observer.query<unknown[]>('select 1 from invoices where name = $1', [name])
  seen.push(rows.then(({ length }) => console.log('committed', name, length === 1)))
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
await invoices.writeLate()
await invoices.writeWithPrisma()
const failure = await invoices.lockAndFail(ofPrisma!).catch((error: Error) => error.message)
console.log(failure, (await ofPrisma!.lock(lockOf('rolled back'))) === undefined)
await Promise.all(seen)
console.log('done')
