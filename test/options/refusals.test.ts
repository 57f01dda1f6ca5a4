import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { describe, expect, it } from '@jest/globals'
import { executeOnce } from '../../src/core/execute-once'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { leaderElection } from '../../src/core/leader-election'
import type { LockProvider } from '../../src/core/lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { SchedulerLock, SchedulerLockDefaults } from '../../src/nestjs/scheduler-lock.decorator'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { shedLockCoordinator } from '../../src/node-cron/shed-lock-coordinator'
import { openTelemetryListener } from '../../src/opentelemetry/open-telemetry-listener'
import { prismaContract } from '../../src/prisma-8/prisma-contract'
import { prismaLockProvider, shedlock } from '../../src/prisma/prisma-lock-provider'
import { prismaModel } from '../../src/prisma/prisma-model'
import { dialects, SqlLockProvider } from '../../src/sql/internal'
import { alwaysFree } from '../../src/testing/unit-test-support'
import { shedLockEntity } from '../../src/typeorm/entity'
import { createShedLockMigration } from '../../src/typeorm/migration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { lockPage } from '../../src/web/lock-page'
import { afterTest } from '../after-test'
import { migrated, openMemory } from '../backends/open-database'
import { OPTIONS_IN_CODE } from '../registries'
import { clientOf } from '../statement-sender'
import { prisma } from './prisma-client'

type Change = Readonly<Record<string, unknown>>

const lock = { name: 'job', lockAtMostFor: '1m' }
const provider = new InMemoryLockProvider()
const executor = new LockingTaskExecutor(provider)
const task = (): string => 'done'
const unused = { execute: () => Promise.resolve(0), query: () => Promise.resolve([]) }

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
  'TableOperations.missed(options)': async (change) =>
    (await sqlProvider()).table.missed('job', { due: new Date(), atMost: '1h', ...change }),
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
  'lockPage(options)': async (change) => lockPage(await sqlProvider(), { authorize: () => true, ...change }),
}

/** A value that is wrong for every option but these, by the name of the option. */
const WRONG = ['wrong']
const wrong: Readonly<Record<string, unknown>> = {
  hosts: [7],
  except: [7],
  // What they contain is Nest's to check.
  ...{ imports: 7, inject: 7 },
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

/** The options that a call knows, as it lists them when it refuses another. */
async function knownTo(where: string): Promise<string[]> {
  const error = await outcome(where, { nonsense: 1 })
  expect(error).toEqual(refused)
  const [, known = ''] = /known options are (.+)\.$/.exec((error as Error).message) ?? []
  expect(known).not.toBe('')
  return known.split(', ')
}

describe.each(Object.keys(calls))('%s', (where) => {
  it('is accepted as it is meant, and refuses unknown options and each wrong value', async () => {
    expect(await outcome(where, {})).toBe('accepted')
    for (const option of await knownTo(where))
      expect([option, await outcome(where, { [option]: wrong[option] ?? WRONG })]).toEqual([option, refused])
  })
})

it('each option of the public interface is known to one of the calls above', async () => {
  const known: string[] = []
  for (const where of Object.keys(calls)) known.push(...(await knownTo(where)))
  expect(OPTIONS_IN_CODE.filter((option) => !known.includes(option))).toEqual([])
})
