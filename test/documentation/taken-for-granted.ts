import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common'
import type { Express } from 'express'
import type { LockingTaskExecutor } from 'shedlock-orm'
import type { SqlLockProvider } from 'shedlock-orm/sql'
import type { DataSource } from 'typeorm'
import { PrismaClient } from '../prisma/generated/sqlite/client'

/** What a `ts fragment` in the documentation may use without making it: a reader has it in his app. */
declare global {
  const app: Express
  const dataSource: DataSource
  const executor: LockingTaskExecutor
  const logger: Console
  const prisma: PrismaClient
  const provider: SqlLockProvider
  const report: object
  class PrismaModule {}
  class PrismaService extends PrismaClient {}
  class Reports {}
  /** Of @nestjs/testing, which is not installed here. */
  const Test: {
    createTestingModule(metadata: ModuleMetadata): { compile(): Promise<INestApplicationContext> }
  }
  function dataSourceOf(tenant: string): DataSource
  function sendReport(signal?: AbortSignal): Promise<void>
}
