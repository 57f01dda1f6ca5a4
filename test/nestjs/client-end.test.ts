import { Module, type DynamicModule, type ModuleMetadata, type Provider } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { expect, test } from '@jest/globals'
import { activeLock } from '../../src/core/scope'
import { SchedulerLock } from '../../src/nestjs/scheduler-lock.decorator'
import { ShedLockModule } from '../../src/nestjs/shed-lock.module'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { describeBackends, availableBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { startApplication } from './application'

const JOB = { name: 'job', lockAtMostFor: '1m' }

class Jobs {
  readonly started = promiseWithResolvers<undefined>()

  /** Works until it is told to stop, and then once more. */
  @SchedulerLock(JOB)
  async run(work: () => Promise<unknown>): Promise<unknown> {
    const signal = activeLock()?.signal
    this.started.resolve(undefined)
    await new Promise((resolve, reject) => {
      signal?.addEventListener('abort', resolve)
      setTimeout(reject, 2_000, new Error('abortAfter was over')).unref()
    })
    return work()
  }
}

type Imports = readonly DynamicModule[]

/** Where an application has the class that ends the client. */
const PLACES: Readonly<Record<string, (client: Provider, locks: DynamicModule) => ModuleMetadata>> = {
  'the root module': (client, locks) => ({ imports: [locks], providers: [client] }),
  'a module before that of the locks': (client, locks) => ({ imports: [moduleOf(client), locks] }),
  'a global module before that of the locks': (client, locks) => ({
    imports: [{ ...moduleOf(client), global: true }, locks],
  }),
  'a global module after that of the locks': (client, locks) => ({
    imports: [locks, { ...moduleOf(client), global: true }],
  }),
  'a module far from the root': (client, locks) => ({
    imports: [locks, moduleOf(undefined, [moduleOf(undefined, [moduleOf(client)])])],
  }),
  'a module that imports that of the locks': (client, locks) => ({ imports: [moduleOf(client, [locks])] }),
}

@Module({})
class ClientModule {}

const moduleOf = (client?: Provider, imports: Imports = []): DynamicModule => ({
  module: ClientModule,
  ...{ imports: [...imports], providers: client ? [client] : [] },
})

const CASES = [
  ...Object.keys(PLACES).map((place) => ({ place, hook: 'onModuleDestroy' })),
  { place: 'the root module', hook: 'beforeApplicationShutdown' },
  { place: 'the root module', hook: 'onApplicationShutdown' },
]

describeBackends(availableBackends('sqlite'))('A client ends after its executors, on $name', (backend) => {
  test.each(CASES)('if a class of $place ends it in $hook', async ({ place, hook }) => {
    const { database, dataSource: other } = await openDatabase(backend, migrated())
    const client = new DataSource(database.typeOrm)
    const Client = {
      provide: 'CLIENT',
      useFactory: async () => {
        await client.initialize()
        return { [hook]: () => (client.isInitialized ? client.destroy() : undefined) }
      },
    }
    const locks = ShedLockModule.forRoot({
      lockProvider: typeOrmLockProvider(client),
      shutdown: { timeout: '20s', abortAfter: 0 },
    })
    const { imports = [], providers = [] } = PLACES[place]?.(Client, locks) ?? {}
    const application = await startApplication({ imports, providers: [...providers, Jobs] })
    const jobs = application.get(Jobs)
    const run = jobs.run(() => client.query('select name from shedlock'))
    const settled = Promise.allSettled([run])
    await jobs.started.promise

    // The second call stands for a signal.
    await Promise.all([application.close(), application.close()])
    expect(await settled).toEqual([{ status: 'fulfilled', value: [{ name: 'job' }] }])
    expect(await typeOrmLockProvider(other).lock(JOB)).toBeDefined()
    expect(await jobs.run(() => Promise.resolve('ran'))).toBeUndefined()
    expect(client.isInitialized).toBe(false)
  })
})
