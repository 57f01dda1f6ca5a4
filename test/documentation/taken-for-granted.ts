import type { Test as TestOfNest } from '@nestjs/testing'
import type { Express } from 'express'
import type { LockingTaskExecutor } from 'shedlock-orm'
import type { Prisma8ClientLike, Prisma8TransactionLike } from 'shedlock-orm/prisma'
import type { Row, SqlLockProvider } from 'shedlock-orm/sql'
import type { DataSource } from 'typeorm'
import { PrismaClient } from '../prisma/generated/sqlite/client'

/** What a `ts fragment` in the documentation may use without making it: a reader has it in his app. */
declare global {
  const app: Express
  const dataSource: DataSource
  /** Of Prisma 8, which is not installed here. */
  const db: Prisma8ClientLike & {
    transaction<R>(work: (tx: Prisma8TransactionLike) => PromiseLike<R>): Promise<R>
  }
  const executor: LockingTaskExecutor
  const logger: Console
  /** A `Pool` of pg, whose types are not installed here. */
  const pool: { query(text: string, values: unknown[]): Promise<{ rows: Row[]; rowCount: number | null }> }
  const prisma: PrismaClient
  const provider: SqlLockProvider
  const report: object
  class AppModule {}
  class PrismaModule {}
  class PrismaService extends PrismaClient {}
  class Reports {}
  /** Of @nestjs/testing. */
  const Test: typeof TestOfNest
  function dataSourceOf(tenant: string): DataSource
  function sendReport(signal?: AbortSignal): Promise<void>
}
