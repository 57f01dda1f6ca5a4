import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { DataSource } from 'typeorm'
import { expect } from '@jest/globals'
import { leaderElection, type ActiveLock, type LeaderElection } from '../../src/core/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { availableBackends, testBackends } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { promiseWithResolvers } from '../promise-with-resolvers'
import { startApplication } from './application'

/** The provider of docs/guides/leader-election.md. */
@Injectable()
class PriceFeed implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly elected = promiseWithResolvers<ActiveLock>()
  readonly errors: unknown[] = []
  private election?: LeaderElection

  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  onApplicationBootstrap(): void {
    const configuration = { name: 'price-feed', lockAtMostFor: '30s' }
    const onElected = (lock: ActiveLock): void => this.elected.resolve(lock)
    const onError = (error: unknown): void => void this.errors.push(error)
    this.election = leaderElection(typeOrmLockProvider(this.dataSource), configuration, {
      onElected,
      onError,
    })
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.election?.shutdown()
  }
}

testBackends(availableBackends().filter(({ shared }) => shared))(
  'a provider holds an election, and steps down before TypeORM closes its pool, on $name',
  async (backend) => {
    const { database, dataSource } = await openDatabase(backend, migrated())
    const application = await startApplication({
      imports: [TypeOrmModule.forRoot(database.typeOrm)],
      providers: [PriceFeed],
    })
    const { elected, errors } = application.get(PriceFeed)
    const lock = await elected.promise
    const table = typeOrmLockProvider(dataSource)
    expect(await table.table.find('price-feed')).toMatchObject({ held: true })
    await application.close()
    expect(lock.signal.aborted).toBe(true)
    expect(errors).toEqual([])
    expect(await table.table.find('price-feed')).toMatchObject({ held: false })
  },
)
