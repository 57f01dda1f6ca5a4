import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { describe, expect, it } from '@jest/globals'
import {
  executeOnce,
  InMemoryLockProvider,
  leaderElection,
  LockingTaskExecutor,
  type LockProvider,
} from '../../src/core/internal'
import { SchedulerLock, SchedulerLockDefaults, ShedLockModule } from '../../src/nestjs'
import { shedLockCoordinator } from '../../src/node-cron'
import { openTelemetryListener, openTelemetryTracingListener } from '../../src/opentelemetry'
import { prismaLockProvider, prismaModel, shedlock } from '../../src/prisma/internal'
import { prismaContract } from '../../src/prisma-8/internal'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { alwaysFree } from '../../src/testing'
import { createShedLockMigration, shedLockEntity, typeOrmLockProvider } from '../../src/typeorm/internal'
import { lockPage } from '../../src/web'
import { afterTest } from '../after-test'
import { migrated, openMemory } from '../backends/open-database'
import { passedObjects } from './public-interface'
import { clientOf } from '../statement-sender'

type Change = Readonly<Record<string, unknown>>

const lock = { name: 'job', lockAtMostFor: '1m' }
const provider = new InMemoryLockProvider()
const executor = new LockingTaskExecutor(provider)
const task = (): string => 'done'
const unused = { execute: () => Promise.resolve(0), query: () => Promise.resolve([]) }
const prisma = {
  _activeProvider: 'postgresql',
  $connect: () => Promise.resolve(),
  $executeRawUnsafe: () => Promise.resolve(0),
  $queryRawUnsafe: () => Promise.resolve([]),
  $transaction: () => Promise.reject(new Error('unused')),
  $extends: (extension: object): unknown => (Object.keys(extension).length === 0 ? prisma : extension),
}

async function sqlProvider(): Promise<SqlLockProvider> {
  return typeOrmLockProvider(await openMemory(migrated()))
}

function election(configuration: object, callbacks: object) {
  const joined = leaderElection(
    new InMemoryLockProvider(),
    { ...lock, ...configuration },
    { onElected: () => undefined, ...callbacks },
  )
  afterTest(() => joined.shutdown())
  return joined
}

async function application(module: ReturnType<typeof ShedLockModule.forRoot>) {
  const options = { logger: false as const, abortOnError: false }
  const started = await NestFactory.createApplicationContext(module, options)
  afterTest(() => started.close())
  return started
}

const nest = { lockProvider: provider }
const memory = (): LockProvider => new InMemoryLockProvider()

/** How to pass each object of options, with one change to what is right. */
const calls: Readonly<Record<string, (change: Change) => unknown>> = {
  'new LockingTaskExecutor(options)': (change) => new LockingTaskExecutor(provider, change),
  'LockingTaskExecutor.executeWithLock(configuration)': (change) =>
    executor.executeWithLock({ ...lock, ...change }, task),
  'LockConfiguration.keepAlive': (change) => executor.executeWithLock({ ...lock, keepAlive: change }, task),
  'LockConfiguration.wait': (change) =>
    executor.executeWithLock({ ...lock, wait: { atMost: '1s', ...change } }, task),
  'LockingTaskExecutor.wrap(configuration)': (change) =>
    executor.wrap({ ...lock, slot: () => 1, ...change } as typeof lock, task),
  'LockingTaskExecutor.shutdown(options)': (change) => new LockingTaskExecutor(provider).shutdown(change),
  'LockProvider.lock(configuration)': async (change) => {
    for (const provider of [memory(), alwaysFree(), await sqlProvider()])
      await (await provider.lock({ ...lock, ...change }))?.unlock()
  },
  'Lock.unlock(options)': async (change) => (await memory().lock(lock))?.unlock(change),
  'leaderElection(configuration)': (change) => election(change, {}),
  'leaderElection(callbacks)': (change) => election({}, change),
  'LeaderElection.shutdown(options)': (change) => election({}, {}).shutdown(change),

  'new SqlLockProvider(options)': (change) =>
    new SqlLockProvider(clientOf(unused), dialects.postgres, change),
  'TableOperations.overdue(options)': async (change) =>
    (await sqlProvider()).table.overdue({ job: '1h' }, change),
  'TableOperations.pause(options)': async (change) =>
    (await sqlProvider()).table.pause('job', { duration: '1h', reason: 'a test', ...change }),
  'LockTableOptions.columnNames': (change) =>
    new SqlLockProvider(clientOf(unused), dialects.postgres, { columnNames: change }),
  'executeOnce(configuration)': (change) => executeOnce(memory(), { name: 'job', ...change }, task),

  'typeOrmLockProvider(options)': async (change) => typeOrmLockProvider(await openMemory(), change),
  'shedLockEntity(options)': (change) => shedLockEntity(change),
  'createShedLockMigration(options)': (change) => createShedLockMigration(change),
  'prismaLockProvider(options)': (change) => prismaLockProvider(prisma, change),
  'prismaModel(options)': (change) => prismaModel('postgresql', change),
  'prismaContract(options)': (change) => prismaContract(change),
  'shedlock(options)': (change) => shedlock(change)(prisma),

  'SchedulerLock(options)': (change) => SchedulerLock({ ...lock, slot: () => 1, ...change }),
  'SchedulerLockDefaults(defaults)': (change) => SchedulerLockDefaults(change),
  'ShedLockModule.forRoot(options)': (change) => ShedLockModule.forRoot({ ...nest, ...change }),
  'ShedLockModuleOptions.warnOfUnlockedCrons': (change) =>
    ShedLockModule.forRoot({ ...nest, warnOfUnlockedCrons: { except: [], ...change } }),
  'ShedLockModuleOptions.shutdown': (change) => ShedLockModule.forRoot({ ...nest, shutdown: change }),
  'ShedLockModule.forRootAsync(options)': (change) =>
    ShedLockModule.forRootAsync({ useFactory: () => nest, ...change }),
  'ShedLockModule.forRootAsync(options).useFactory()': (change) =>
    application(ShedLockModule.forRootAsync({ useFactory: () => ({ ...nest, ...change }) })),

  'shedLockCoordinator(options)': (change) => shedLockCoordinator(provider, change),
  'shedLockCoordinator().shutdown(options)': (change) => shedLockCoordinator(provider).shutdown(change),
  'openTelemetryListener(options)': (change) => openTelemetryListener(change),
  'openTelemetryTracingListener(options)': (change) => openTelemetryTracingListener(change),
  'lockPage(options)': async (change) => lockPage(await sqlProvider(), { authorize: () => true, ...change }),
}

/** What else a caller passes, and why it may have properties that the package does not know. */
const others: Readonly<Record<string, string>> = {
  ...{ SqlClient: 'a client', DriverClient: 'a client', Driver: 'a client', SqlSession: 'of a client' },
  ...{ StatementResult: 'of a client', Sql: 'made by the package' },
  ...{ 'new Lease(clock)': 'a clock', 'new InMemoryLockProvider(clock)': 'a clock' },
  ...{ CronLike: 'of croner', CronTimeLike: 'of cron' },
  ...{ ActiveLock: 'a lock', 'Skip.holder': 'of a storage' },
  LockingTaskExecutorListener: 'its own class',
  'openTelemetryListener(options).lockProvider': 'a storage',
  'new LockError(options)': 'of a storage',
  'loggingListener(logger)': "the app's own",
  'new SqlLockProvider(dialect)': 'made by the package',
  ...{ DataSourceLike: 'of TypeORM', QueryRunnerLike: 'of TypeORM', 'guard(transaction)': 'of TypeORM' },
  ...{ PrismaClientLike: 'of Prisma', RawClientLike: 'of Prisma', TransactionClientLike: 'of Prisma' },
  ...{ Prisma8ClientLike: 'of Prisma', Prisma8TransactionLike: 'of Prisma' },
  'lockStatementName(options)': 'of Prisma',
  'nodeHandler()(response)': 'of a framework',
  'LockPageOptions.authorize()': "may be the app's own user",
  LockProviderEnvironment: 'a test',
  ...{ LockRecord: 'a row', LastRun: 'part of a row' },
  ...{ Skip: 'part of an event', 'LockingTaskExecutorListener.onLockLost(event)': 'part of an event' },
  ...{ LockEvent: 'an event', LockFailureEvent: 'an event' },
  ...{ TaskFinishedEvent: 'an event', CheckedLockConfiguration: 'of an event' },
}
/** Parts of those. */
const isPartOfOther = (type: string): boolean =>
  /^(openTelemetryListener\(options\)\.lockProvider|Driver|DriverClient|Prisma8\w+|DataSourceLike|QueryRunnerLike|CronLike|CronTimeLike)\b[.(]/.test(
    type,
  )

/** A `Temporal.Duration`, or a time of Temporal. */
const isOfTemporal = (properties: readonly string[]): boolean =>
  properties.includes('blank') || properties.includes('epochMilliseconds')

const passed = passedObjects().filter(
  ({ type, properties }) => !(type in others) && !isPartOfOther(type) && !isOfTemporal(properties),
)

/** Wrong for every option but these. */
const WRONG = ['wrong']
const wrong: Readonly<Record<string, unknown>> = {
  'openTelemetryListener(options).lockNames': [7],
  'ShedLockModuleOptions.warnOfUnlockedCrons.except': [7],
  // What they contain is Nest's to check.
  ...{ 'ShedLockModule.forRootAsync(options).imports': 7, 'ShedLockModule.forRootAsync(options).inject': 7 },
}

const refused = expect.objectContaining({ name: 'LockError', code: 'INVALID_CONFIGURATION' })

async function outcome(where: string, change: Change): Promise<unknown> {
  try {
    await calls[where]?.(change)
    return 'accepted'
  } catch (error) {
    return error
  }
}

describe('every object of options', () => {
  it('of the public interface is called here, and no other', () => {
    expect([...new Set(passed.map(({ where }) => where))].sort()).toEqual(Object.keys(calls).sort())
  })

  it('is here for a reason if it is not one of options', () => {
    const types = new Set(passedObjects().map(({ type }) => type))
    expect(Object.keys(others).filter((type) => !types.has(type))).toEqual([])
  })

  it.each(passed)('is accepted as it is meant: $where', async ({ where }) => {
    expect(await outcome(where, {})).toBe('accepted')
  })

  it.each(passed)('refuses an option that it does not know: $where', async ({ where }) => {
    expect(await outcome(where, { nonsense: 1 })).toEqual(refused)
  })

  it.each(
    passed.flatMap(({ where, type, properties }) => properties.map((option) => ({ where, type, option }))),
  )('refuses a wrong value: $where, $option', async ({ where, type, option }) => {
    const value = wrong[`${type}.${option}`] ?? WRONG
    expect(await outcome(where, { [option]: value })).toEqual(refused)
  })
})
