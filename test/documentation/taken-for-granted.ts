import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Test as TestOfNest } from '@nestjs/testing'
import type { schedule as scheduleOfNodeCron } from 'node-cron'
import type { LockingTaskExecutor as Executor, slotOf as slotOfCron } from 'shedlock-orm'
import type { Prisma8ClientLike, Prisma8TransactionLike } from 'shedlock-orm/prisma-8'
import type { SqlLockProvider } from 'shedlock-orm/sql'
import type { typeOrmLockProvider as providerOfTypeOrm } from 'shedlock-orm/typeorm'
import type { DataSource } from 'typeorm'
import { PrismaClient } from '../prisma/generated/sqlite/client'

interface PgQuery {
  query(
    text: string,
    values: unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
}

/** What a `ts fragment` in the documentation may use without making it: a reader has it in his app. */
declare global {
  /** An `Express`, which is not installed here. */
  const app: {
    use(path: string, handle: (request: AppRequest, response: ServerResponse) => unknown): void
    listen(port: number): Server
  }
  interface AppUser {
    readonly name: string
    readonly isAdmin: boolean
  }
  /** What the app's own sign-in left in a request: of Express, of NestJS upon it, and of Fastify. */
  type AppRequest = IncomingMessage & { readonly user?: AppUser }
  const dataSource: DataSource
  /** Of Prisma 8, which is not installed here. */
  const db: Prisma8ClientLike & {
    transaction<R>(work: (tx: Prisma8TransactionLike) => PromiseLike<R>): Promise<R>
  }
  const executor: Executor
  const LockingTaskExecutor: typeof Executor
  const slotOf: typeof slotOfCron
  const typeOrmLockProvider: typeof providerOfTypeOrm
  const schedule: typeof scheduleOfNodeCron
  /** A `Hono`, which is not installed here. */
  const hono: {
    all(
      path: string,
      handle: (context: {
        req: { raw: Request }
        get(key: 'user'): AppUser | undefined
      }) => Promise<Response>,
    ): void
  }
  const logger: Console
  /** A `Pool` of pg, whose types are not installed here. */
  const pool: PgQuery & {
    connect(): Promise<PgQuery & { release(destroys?: boolean): void }>
    on(
      event: 'connect',
      listener: (connection: { on: (event: 'error', listener: () => void) => void }) => void,
    ): void
  }
  const prisma: PrismaClient
  const provider: SqlLockProvider
  const report: object
  /** Of typeorm-transactional, which is not installed here. */
  function Transactional(): MethodDecorator
  class AppModule {}
  class PrismaModule {}
  class PrismaService extends PrismaClient {}
  /** Of @nestjs/config, which is not installed here. */
  class ConfigModule {}
  class ConfigService {
    getOrThrow<T>(key: string): T
  }
  class Reports {
    send(): Promise<void>
  }
  /** Of @nestjs/testing. */
  const Test: typeof TestOfNest
  function send(): Promise<void>
  function sendReport(signal?: AbortSignal): Promise<void>
}
