import {
  Inject,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { DataSource } from 'typeorm'
import { describe, expect, test } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core'
import { ShedLockModule, ShedLockStore } from '../../src/nestjs'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm'
import { afterTest } from '../after-test'
import { availableBackends, testBackends } from '../backends'
import { startApplication } from './application'

/** What the documentation of `@nestjs/locks` says of its registry: it takes a store until its module is initialised. */
@Injectable()
class LocksStorage implements OnModuleInit {
  source: ShedLockStore | undefined
  #locked = false

  registerSource(source: ShedLockStore): void {
    if (this.#locked || this.source) throw new Error('too late, or a second one')
    this.source = source
  }

  onModuleInit(): void {
    this.#locked = true
  }
}

/** It hands leases back in `onModuleDestroy`, and the other locks in `beforeApplicationShutdown`. */
@Injectable()
class Locks implements OnModuleDestroy, BeforeApplicationShutdown {
  readonly handedBack: boolean[] = []

  constructor(@Inject(LocksStorage) private readonly storage: LocksStorage) {}

  get store(): ShedLockStore {
    if (!this.storage.source) throw new Error('no store')
    return this.storage.source
  }

  async onModuleDestroy(): Promise<void> {
    this.handedBack.push(await this.store.release('job:owner', 'instance'))
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.handedBack.push(await this.store.release('job', 'run'))
  }
}

@Module({})
class LocksModule {
  static forRoot(): DynamicModule {
    const providers = [LocksStorage, Locks]
    return { module: LocksModule, global: true, providers, exports: providers }
  }
}

describe('The module with locksStorage', () => {
  test('makes the store of LocksModule, in either order', async () => {
    const ours = ShedLockModule.forRoot({
      lockProvider: new InMemoryLockProvider(),
      locksStorage: LocksStorage,
    })
    for (const imports of [
      [LocksModule.forRoot(), ours],
      [ours, LocksModule.forRoot()],
    ]) {
      const application = await startApplication({ imports })
      expect(application.get(LocksStorage).source).toBe(application.get(ShedLockStore))
    }
  })

  test('does not start without LocksModule', async () => {
    const imports = [
      ShedLockModule.forRootAsync({
        useFactory: () => ({ lockProvider: new InMemoryLockProvider() }),
        locksStorage: LocksStorage,
      }),
    ]
    await expect(startApplication({ imports })).rejects.toThrow(/import LocksModule.forRoot\(\)/)
  })

  test('makes no store without it', async () => {
    const imports = [
      ShedLockModule.forRoot({ lockProvider: new InMemoryLockProvider() }),
      LocksModule.forRoot(),
    ]
    const application = await startApplication({ imports, providers: [] })
    expect(application.get(LocksStorage).source).toBeUndefined()
    // What the stand-in releases at the end.
    application.get(LocksStorage).source = new ShedLockStore(new InMemoryLockProvider())
  })
})

testBackends(availableBackends().filter(({ shared }) => shared))(
  'at shutdown the locks of the store are released before TypeORM closes its pool, on $name',
  async (backend) => {
    const database = await backend.create()
    afterTest(() => database.drop())
    const other = await new DataSource({
      ...database.typeOrm,
      migrations: [createShedLockMigration()],
      migrationsRun: true,
    }).initialize()
    afterTest(() => other.destroy())
    const application = await startApplication({
      imports: [
        TypeOrmModule.forRoot(database.typeOrm),
        ShedLockModule.forRoot({ lockProvider: typeOrmLockProvider, locksStorage: LocksStorage }),
        LocksModule.forRoot(),
      ],
    })
    const locks = application.get(Locks)
    await locks.store.acquire('job:owner', 'instance', 60_000)
    await locks.store.acquire('job', 'run', 60_000)
    const others = new ShedLockStore(typeOrmLockProvider(other))
    expect(await others.acquire('job', 'other', 60_000)).toEqual({ acquired: false })

    await application.close()
    expect(locks.handedBack).toEqual([true, true])
    expect(await others.acquire('job', 'other', 60_000)).toMatchObject({ acquired: true })
    expect(await others.acquire('job:owner', 'other', 60_000)).toMatchObject({ acquired: true })
  },
)
