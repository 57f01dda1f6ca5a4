import 'reflect-metadata'
import { subscribe } from 'node:diagnostics_channel'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClsPluginTransactional,
  Transactional as ClsTransactional,
  TransactionHost,
} from '@nestjs-cls/transactional'
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm'
import { ClsModule, UseCls } from 'nestjs-cls'
import type { LockEvent } from 'shedlock-orm'
import { SchedulerLock, ShedLockModule } from 'shedlock-orm/nestjs'
import { guard, typeOrmLockProvider } from 'shedlock-orm/typeorm'
import { DataSource, type EntityManager } from 'typeorm'
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  Transactional,
} from 'typeorm-transactional'
import { dataSource } from './data-source.js'

const insert = 'insert into invoices (name) values ($1)'

@Injectable()
class Invoices {
  constructor(@Inject(TransactionHost) private readonly host: TransactionHost<TransactionalAdapterTypeOrm>) {}

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

  async #write(manager: EntityManager, name: string): Promise<void> {
    await manager.query(insert, [name])
    await guard(manager)
  }
}

@Module({
  providers: [{ provide: DataSource, useValue: dataSource }],
  exports: [DataSource],
})
class DatabaseModule {}

@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      plugins: [
        new ClsPluginTransactional({
          imports: [DatabaseModule],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: DataSource }),
        }),
      ],
    }),
    ShedLockModule.forRoot({ lockProvider: typeOrmLockProvider(dataSource, { timeLimit: '500ms' }) }),
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
await Promise.all(seen)
console.log('done')
