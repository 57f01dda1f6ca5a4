import { Injectable, Module, Scope, type ModuleMetadata } from '@nestjs/common'
import { getRepositoryToken, InjectRepository, TypeOrmModule } from '@nestjs/typeorm'
import { DataSource, type Repository } from 'typeorm'
import { describe, expect, jest, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { LockProvider } from '../../src/core/lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import type { ShedLockModuleOptions } from '../../src/nestjs/shed-lock-module-options'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { prismaLockProvider } from '../../src/prisma/prisma-lock-provider'
import { shedLockEntity, type ShedLock } from '../../src/typeorm/entity'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { ormClient } from '../../src/nestjs/lock-providers'
import { afterTest } from '../after-test'
import { testBackends } from '../backends'
import { lockError } from '../lock-error'
import { prismaBackends } from '../prisma/clients'
import { startApplication } from './application'

@Injectable()
class Reports {
  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  send(): Promise<string | undefined> {
    return Promise.resolve(activeLock()?.name)
  }
}

const memory = (name?: string): NonNullable<ModuleMetadata['imports']>[number] =>
  TypeOrmModule.forRoot({
    ...(name !== undefined && { name }),
    type: 'better-sqlite3',
    database: ':memory:',
    migrations: [createShedLockMigration()],
    migrationsRun: true,
  })

/** Sees which client it is asked to make a provider of. */
function spy(): { clients: object[]; lockProvider: (client: object) => LockProvider } {
  const clients: object[] = []
  return {
    clients,
    lockProvider: (client) => {
      clients.push(client)
      return new InMemoryLockProvider()
    },
  }
}

const start = (metadata: ModuleMetadata, options: ShedLockModuleOptions) =>
  startApplication({ ...metadata, imports: [ShedLockModule.forRoot(options), ...(metadata.imports ?? [])] })

const locks = shedLockEntity()
const reportLocks = shedLockEntity({ tableName: 'report_locks' })

@Injectable()
class Tables {
  constructor(
    @InjectRepository(locks) readonly locks: Repository<ShedLock>,
    @InjectRepository(reportLocks) readonly reportLocks: Repository<ShedLock>,
  ) {}
}

test('each lock table has its own repository', async () => {
  const application = await startApplication({
    imports: [
      TypeOrmModule.forRoot({
        ...{ type: 'better-sqlite3', database: ':memory:', entityPrefix: 'app_' },
        ...{ autoLoadEntities: true, synchronize: true },
      }),
      TypeOrmModule.forFeature([locks, reportLocks]),
    ],
    providers: [Tables],
  })
  const dataSource = application.get(DataSource)
  const job = { name: 'job', lockAtMostFor: '1h' }
  await typeOrmLockProvider(dataSource).lock(job)
  await typeOrmLockProvider(dataSource, { tableName: 'report_locks' }).lock({ ...job, name: 'report' })
  const tables = application.get(Tables)
  expect(await tables.locks.find()).toMatchObject([{ name: 'job' }])
  expect(await tables.reportLocks.find()).toMatchObject([{ name: 'report' }])
  expect([locks, reportLocks].map((entity) => getRepositoryToken(entity))).toEqual([
    'ShedLockRepository',
    'ShedLock_report_locksRepository',
  ])
})

describe('The module finds the client of its locks', () => {
  test("TypeORM's only DataSource, wherever the module is imported", async () => {
    const application = await start(
      { imports: [memory()], providers: [Reports] },
      { lockProvider: typeOrmLockProvider },
    )
    expect(await application.get(Reports).send()).toBe('report')
    const rows: unknown[] = await application.get(DataSource).query('select name from shedlock')
    expect(rows).toEqual([{ name: 'report' }])
  })

  test('of several DataSources the one without a name', async () => {
    const { clients, lockProvider } = spy()
    const application = await start({ imports: [memory('audit'), memory()] }, { lockProvider })
    expect(clients).toEqual([application.get(DataSource)])
  })

  test('of a module that made it by itself, under a text, beside clients of requests and of other makers', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest {}
    Object.assign(OfRequest.prototype, { $connect: jest.fn(), $executeRawUnsafe: jest.fn() })
    const dataSource = new DataSource({ type: 'better-sqlite3', database: ':memory:' })
    const { clients, lockProvider } = spy()
    const providers = [
      { provide: 'DATA_SOURCE', useValue: dataSource },
      { provide: 'ALIAS', useExisting: 'DATA_SOURCE' },
      OfRequest,
      { provide: 'SERVICE', useValue: { isInitialized: true } },
      { provide: 'REDIS', useValue: { $connect: () => undefined } },
    ]
    await start({ providers }, { lockProvider })
    expect(clients).toEqual([dataSource])
  })

  const sqlite = prismaBackends().filter(({ adapter }) => adapter === 'better-sqlite3')
  testBackends(sqlite)("Prisma's client on $name", async (backend) => {
    const database = await backend.create()
    afterTest(() => database.drop())
    const prisma = await database.connect()
    const { clients, lockProvider } = spy()
    const PrismaService = Symbol('PrismaService')
    await start({ providers: [{ provide: PrismaService, useValue: prisma }] }, { lockProvider })
    expect(clients).toEqual([prisma])
    expect(prismaLockProvider(clients[0] as never).description).toBe(
      'the table shedlock (sqlite, by connections of its own)',
    )
  })

  test('of a class that several modules list, one', async () => {
    class PrismaService {
      $connect = (): Promise<void> => Promise.resolve()
      $executeRawUnsafe = this.$connect
    }
    @Module({ providers: [{ provide: PrismaService, useValue: new PrismaService() }] })
    class Database {}
    @Module({ providers: [PrismaService] })
    class Audit {}
    const { clients, lockProvider } = spy()
    const application = await start({ imports: [Database, Audit] }, { lockProvider })
    const [one, other] = [Database, Audit].map((module) =>
      application.select(module).get(PrismaService, { strict: true }),
    )
    expect(one).not.toBe(other)
    expect(clients).toHaveLength(1)
    expect(clients[0]).toBe(one)
  })

  test('before the module is initialised, for a lock that another asks for in onModuleInit', async () => {
    class Early {
      ran: unknown

      constructor(readonly executor: LockingTaskExecutor) {}

      async onModuleInit(): Promise<void> {
        this.ran = await this.executor.executeWithLock({ name: 'early', lockAtMostFor: '1m' }, () => 'ran')
      }
    }
    const provider = {
      provide: Early,
      inject: [LockingTaskExecutor],
      useFactory: (executor: LockingTaskExecutor) => new Early(executor),
    }
    const application = await start(
      { imports: [memory()], providers: [provider] },
      { lockProvider: typeOrmLockProvider },
    )
    expect(application.get(Early).ran).toMatchObject({ executed: true, value: 'ran' })
  })

  test('ends only what the executor has begun when that is shut down, and all of it with the application', async () => {
    const drain = jest.fn<NonNullable<LockProvider['drain']>>().mockResolvedValue()
    const provider = new InMemoryLockProvider()
    const ofCaller = { acquire: provider.acquire.bind(provider), drain }
    const drainAll = jest.fn<NonNullable<LockProvider['drain']>>().mockResolvedValue()
    Object.assign(provider, { forCaller: () => ofCaller, drain: drainAll })
    const application = await start({ imports: [memory()] }, { lockProvider: () => provider })
    const executor = application.get(LockingTaskExecutor)
    await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () => undefined)
    await executor.shutdown()
    expect([drain.mock.calls.length, drainAll.mock.calls]).toEqual([1, []])
    await application.close()
    expect(drainAll.mock.calls).toEqual([[expect.any(Number)]])
  })
})

describe('The application does not start', () => {
  test('without a client', async () => {
    await expect(start({}, { lockProvider: typeOrmLockProvider })).rejects.toThrow(
      /finds no DataSource and no PrismaClient.*property.*inject.*forRootAsync.*mock.*override SHED_LOCK_OPTIONS/,
    )
  })

  test('with several, of which none is meant', async () => {
    const imports = [memory('one'), memory('two')]
    await expect(start({ imports }, { lockProvider: typeOrmLockProvider })).rejects.toThrow(
      /several clients: .*oneDataSource.*twoDataSource.* – use forRootAsync, and inject the client/,
    )
  })

  test('when a loader has loaded Nest twice', () => {
    expect(() => ormClient(new Map())).toThrow(/@nestjs\/core is loaded twice/)
  })

  test('with a client of another kind', async () => {
    await expect(start({ imports: [memory()] }, { lockProvider: prismaLockProvider })).rejects.toEqual(
      lockError('INVALID_CLIENT'),
    )
  })
})
