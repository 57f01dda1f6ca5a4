import { Injectable, Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { DataSource } from 'typeorm'
import { expect, test } from '@jest/globals'
import { assertLocked } from '../../src/core/internal'
import { SHED_LOCK_OPTIONS, SchedulerLock, ShedLockModule } from '../../src/nestjs'
import { afterTest } from '../after-test'
import { providerOf } from '../core/provider-of'
import { alwaysFree } from '../../src/testing'
import { guard } from '../../src/typeorm/internal'

@Injectable()
class Reports {
  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  send(): Promise<string> {
    assertLocked()
    return Promise.resolve('sent')
  }

  @SchedulerLock({ name: 'book', lockAtMostFor: '1m' })
  async book(dataSource: DataSource): Promise<void> {
    await dataSource.transaction(async (manager) => {
      await manager.query('insert into booking values (1)')
      await guard(manager)
    })
  }
}

/** Of a database that a test does not have. */
const unreachable = providerOf(() => Promise.reject(new Error('There is no database.')))

@Module({ providers: [Reports] })
class ReportsModule {}

@Module({
  imports: [
    ShedLockModule.forRootAsync({ useFactory: () => ({ lockProvider: unreachable }) }),
    ReportsModule,
  ],
})
class AppModule {}

test("A whole application has its lock taken away by Nest's own override", async () => {
  const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(SHED_LOCK_OPTIONS)
    .useValue({ lockProvider: alwaysFree() })
    .compile()
  await moduleRef.init()
  afterTest(() => moduleRef.close())
  const reports = moduleRef.get(Reports, { strict: false })
  expect(await Promise.all([reports.send(), reports.send()])).toEqual(['sent', 'sent'])

  const database = await new DataSource({ type: 'better-sqlite3', database: ':memory:' }).initialize()
  afterTest(() => database.destroy())
  await database.query('create table booking (id integer)')
  await reports.book(database)
  expect(await database.query('select id from booking')).toEqual([{ id: 1 }])
})
