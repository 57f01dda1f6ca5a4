import {
  applyDecorators,
  Inject,
  Injectable,
  Module,
  Scope,
  SetMetadata,
  type Provider,
} from '@nestjs/common'
import { ModuleRef, Reflector } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { activeLock } from '../../src/core/scope'
import { LockingTaskExecutors } from '../../src/nestjs/locking-task-executors'
import { SchedulerLock, SchedulerLockDefaults } from '../../src/nestjs/scheduler-lock.decorator'
import { SHED_LOCK_OPTIONS, ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { alwaysFree } from '../../src/testing/unit-test-support'
import { afterTest } from '../after-test'
import { providerOf } from '../core/provider-of'
import { lockError } from '../lock-error'
import { startApplication, startWith } from './application'
import { jobClass } from './job-class'

@Injectable()
class Reports {
  readonly region = 'eu'

  @SchedulerLock({ name: 'report', lockAtMostFor: '1m' })
  report(sum: number, addend: number): Promise<number | undefined> {
    return Promise.resolve(sum + addend)
  }

  @SchedulerLock({ name: 'failing', lockAtMostFor: '1m' })
  fail(): Promise<void> {
    throw new RangeError('my own')
  }

  @SchedulerLock({
    name(this: Reports, tenant: string) {
      return `${this.region}-${tenant}`
    },
    lockAtMostFor: '1m',
  })
  perTenant(tenant: string): unknown {
    return { tenant, lock: activeLock()?.name }
  }
}

let lockProvider: InMemoryLockProvider
beforeEach(() => {
  lockProvider = new InMemoryLockProvider()
})

const ACME = { tenant: 'acme', lock: 'eu-acme' }

const start = (...providers: Provider[]) =>
  startWith({ lockProvider, defaultLockAtMostFor: '1m' }, ...providers)

function method(owner: { prototype: object }, name: string): (...args: unknown[]) => unknown {
  return (owner.prototype as Record<string, (...args: unknown[]) => unknown>)[name] as never
}

describe('a method with @SchedulerLock', () => {
  test('returns its own value or error, and is given this and its arguments', async () => {
    const reports = (await start(Reports)).get(Reports)
    expect(await reports.report(40, 2)).toBe(42)
    expect(await reports.perTenant('acme')).toEqual(ACME)
    await expect(reports.fail()).rejects.toEqual(new RangeError('my own'))
  })

  test('does not run when ShedLockModule is not imported', async () => {
    let ran = 0
    const Jobs = jobClass([SchedulerLock({ name: 'job', lockAtMostFor: '1m' })], () => ran++)
    const jobs = (await startApplication({ providers: [Jobs] })).get(Jobs)
    const error = lockError('INVALID_CONFIGURATION', 'ShedLockModule')
    await expect(jobs.run()).rejects.toEqual(error)
    await expect(new Jobs().run()).rejects.toEqual(error)
    const lost = lockError('INVALID_CONFIGURATION', 'called without its object')
    for (const self of [undefined, {}])
      await expect(Reflect.apply(method(Jobs, 'run'), self, [])).rejects.toEqual(lost)
    expect(ran).toBe(0)
  })

  test('keeps its name, its length and its metadata, whichever side they were set on', () => {
    class Jobs {
      @SetMetadata('outside', 1)
      @applyDecorators(SetMetadata('before', 2), SchedulerLock({ name: 'job' }), SetMetadata('after', 3))
      @SetMetadata('inside', 4)
      run(a: number, b: number): number {
        return a + b
      }
    }
    const run = method(Jobs, 'run')
    const reflector = new Reflector()
    expect([run.name, run.length]).toEqual(['run', 2])
    expect(['outside', 'before', 'after', 'inside'].map((key) => reflector.get<number>(key, run))).toEqual([
      1, 2, 3, 4,
    ])
  })

  test('works in instances that are made for one request', async () => {
    const Jobs = jobClass([SchedulerLock({ name: 'job' })], () => activeLock()?.name)
    Injectable({ scope: Scope.REQUEST })(Jobs)
    const application = await start(Jobs)
    const jobs = await application.get(ModuleRef).resolve(Jobs, undefined, { strict: false })
    expect(await jobs.run()).toBe('job')
  })

  test('uses the locks of its own application, when there are two in one process', async () => {
    const inOne = (await start(Reports)).get(Reports)
    const inTwo = (await startWith({}, Reports)).get(Reports)
    await lockProvider.lock({ name: 'report', lockAtMostFor: '1m' })
    expect([await inOne.report(1, 1), await inTwo.report(1, 1)]).toEqual([undefined, 2])
  })

  test('may be in the very class that the lock provider is made from', async () => {
    @Injectable()
    class Database {
      readonly provider = lockProvider

      @SchedulerLock({ name: 'vacuum' })
      vacuum(): unknown {
        return activeLock()?.name
      }
    }
    @Module({})
    class DatabaseModule {}
    const application = await startApplication({
      imports: [
        ShedLockModule.forRootAsync({
          imports: [{ module: DatabaseModule, providers: [Database], exports: [Database] }],
          inject: [Database],
          useFactory: ({ provider }: Database) => ({ lockProvider: provider, defaultLockAtMostFor: '1m' }),
        }),
      ],
    })
    expect(await application.get(Database, { strict: false }).vacuum()).toBe('vacuum')
  })
})

describe('several lock providers', () => {
  @SchedulerLockDefaults({ provider: 'reports', lockAtMostFor: '1m' })
  class Jobs {
    @SchedulerLock({ name: 'job' })
    run(): unknown {
      return activeLock()?.name
    }

    @SchedulerLock({ name: 'job', provider: 'audit' })
    audit(): unknown {
      return activeLock()?.name
    }
  }

  @SchedulerLockDefaults({ provider: 'audit' })
  class AuditJobs extends Jobs {}

  test('are named by the class, the subclass or the method', async () => {
    const [reports, audit] = [new InMemoryLockProvider(), new InMemoryLockProvider()]
    const options = { lockProvider, lockProviders: { reports, audit } }
    const application = await startWith(options, Jobs, AuditJobs)
    for (const held of [lockProvider, audit]) await held.lock({ name: 'job', lockAtMostFor: '1m' })
    const [jobs, auditJobs] = [application.get(Jobs), application.get(AuditJobs)]
    expect(await jobs.run()).toBe('job')
    expect([await jobs.audit(), await auditJobs.run()]).toEqual([undefined, undefined])
  })

  test('are executors that a service can inject', async () => {
    class Service {
      constructor(
        @Inject(LockingTaskExecutor) readonly executor: LockingTaskExecutor,
        @Inject(LockingTaskExecutors) readonly executors: LockingTaskExecutors,
      ) {}
    }
    const { executor, executors } = (await start(Service)).get(Service)
    expect(executors.get()).toBe(executor)
    expect(await executor.executeWithLock({ name: 'job' }, () => 1)).toEqual({ executed: true, value: 1 })
    expect(() => executors.get('nowhere')).toThrow("no lock provider 'nowhere'")
  })
})

describe('a duration that is a function', () => {
  const CONFIG = Symbol('config')

  @SchedulerLockDefaults({ lockAtLeastFor: () => 0 })
  class Configured {
    @Inject(CONFIG)
    readonly config!: Readonly<Record<string, string>>

    @SchedulerLock({
      name: 'report',
      lockAtMostFor(this: Configured) {
        return this.config['REPORT_LOCK'] ?? ''
      },
    })
    send(): Promise<number> {
      return Promise.resolve(activeLock()?.remaining() ?? 0)
    }
  }
  const startWithConfig = (config: object) =>
    startWith({ lockProvider }, Configured, { provide: CONFIG, useValue: config })

  test('is taken from what the application injected, for each run', async () => {
    const config = { REPORT_LOCK: '1h' }
    const reports = (await startWithConfig(config)).get(Configured)
    const first = await reports.send()
    expect(first).toBeGreaterThan(3_500_000)
    expect(first).toBeLessThanOrEqual(3_600_000)
    config.REPORT_LOCK = '2h'
    expect(await reports.send()).toBeGreaterThan(7_000_000)
  })

  test('is refused when the application starts, if it gives no duration', async () => {
    await expect(startWithConfig({ REPORT_LOCK: 'soon' })).rejects.toEqual(
      lockError('INVALID_CONFIGURATION', /lockAtMostFor of lock 'report' is 'soon'/),
    )
  })
})

describe('what can never work is refused', () => {
  const refused = (message: string) => lockError('INVALID_CONFIGURATION', message)

  const lock = SchedulerLock({ name: 'job' })
  test.each<[string, () => unknown, string]>([
    ['no name', () => SchedulerLock({} as never), 'has no name'],
    ['a static method', () => lock(InMemoryLockProvider, 'run', { value: () => 'ran' }), 'static'],
    // What is called here does not compile as a decorator.
    ['a property', () => lock({}, 'run', undefined as never), "'run'"],
    [
      'a class',
      () => lock(InMemoryLockProvider, undefined as never, undefined as never),
      '@SchedulerLockDefaults',
    ],
    // As a compiler without experimentalDecorators calls it.
    ['a standard decorator', () => lock({}, { kind: 'method' } as never, {}), 'set experimentalDecorators'],
  ])('where the class is loaded: %s', (_, decorate, message) => {
    expect(decorate).toThrow(refused(message))
  })

  test.each([
    ['a method without lockAtMostFor, where there is no default', { name: 'job' }, 'lockAtMostFor'],
    ['a lock provider that the module does not have', { name: 'job', provider: 'x' }, "lock provider 'x'"],
    [
      'lockAtLeastFor longer than lockAtMostFor',
      { name: 'job', lockAtMostFor: '1m', lockAtLeastFor: '2m' },
      'is longer than',
    ],
  ])('when the application starts: %s', async (_, options, message) => {
    const Jobs = jobClass([SchedulerLock(options as never)], () => undefined)
    await expect(startWith({ lockProvider }, Jobs)).rejects.toThrow(refused(message))
  })

  test('when the application starts: the module from two calls of forRoot', async () => {
    const imports = [{ lockProvider }, { lockProvider, defaultLockAtMostFor: '1m' }].map((options) =>
      ShedLockModule.forRoot(options),
    )
    const Jobs = jobClass([SchedulerLock({ name: 'job' })], () => undefined)
    const started = startApplication({ imports, providers: [Jobs] })
    await expect(started).rejects.toThrow(refused('is imported from several calls of forRoot'))
  })

  test('when the module is configured: no lock provider', () => {
    expect(() => ShedLockModule.forRoot({} as never)).toThrow(refused('lockProvider of ShedLockModule'))
  })
})

test("Nest's own override takes the locks away from a whole application, whose database a test does not have", async () => {
  const unreachable = providerOf(() => Promise.reject(new Error('There is no database.')))
  @Module({
    imports: [ShedLockModule.forRootAsync({ useFactory: () => ({ lockProvider: unreachable }) })],
    providers: [Reports],
  })
  class AppModule {}
  const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(SHED_LOCK_OPTIONS)
    .useValue({ lockProvider: alwaysFree() })
    .compile()
  await moduleRef.init()
  afterTest(() => moduleRef.close())
  const reports = moduleRef.get(Reports, { strict: false })
  expect(await Promise.all([reports.perTenant('acme'), reports.perTenant('acme')])).toEqual([ACME, ACME])
})
