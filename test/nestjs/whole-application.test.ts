import { Injectable, Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { expect, test } from '@jest/globals'
import { assertLocked } from '../../src/core/internal'
import { SHED_LOCK_OPTIONS, SchedulerLock, ShedLockModule } from '../../src/nestjs'
import { afterTest } from '../after-test'
import { providerOf } from '../core/provider-of'
import { alwaysFree } from '../../src/testing'

@Injectable()
class Reports {
  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  send(): Promise<string> {
    assertLocked()
    return Promise.resolve('sent')
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
})
