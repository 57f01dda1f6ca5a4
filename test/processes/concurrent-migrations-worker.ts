import { DataSource, type DataSourceOptions } from 'typeorm'
import { LockingTaskExecutor } from '../../src/core/internal'
import { createShedLockMigration, typeOrmLockProvider } from '../../src/typeorm/internal'

export interface MigratingOrder {
  readonly typeOrm: DataSourceOptions
  /** All migrations under a lock, as docs/tables.md shows it; or only those of TypeORM, with nothing around. */
  readonly underLock: boolean
}

/** A migration that fails when it is run twice. */
class AppTable1767225600000 {
  readonly name = 'AppTable1767225600000'

  async up(queryRunner: { query(text: string): Promise<unknown> }): Promise<void> {
    await queryRunner.query('create table app (id integer)')
  }

  down(): Promise<void> {
    return Promise.resolve()
  }
}

async function prepare({ typeOrm, underLock }: MigratingOrder): Promise<() => Promise<void>> {
  const dataSource = await new DataSource({
    ...typeOrm,
    poolSize: 2,
    migrations: [createShedLockMigration(), ...(underLock ? [AppTable1767225600000] : [])],
  } as DataSourceOptions).initialize()
  return async () => {
    try {
      await (underLock ? migrateUnderLock(dataSource) : dataSource.runMigrations())
    } finally {
      await dataSource.destroy()
    }
  }
}

async function migrateUnderLock(dataSource: DataSource): Promise<void> {
  const provider = typeOrmLockProvider(dataSource, { timeLimit: '1m' })
  await provider.table.create()
  const migrations = { name: 'migrations', lockAtMostFor: '10m', wait: '5m', onSkip: 'throw' } as const
  await new LockingTaskExecutor(provider).executeWithLock(migrations, () => dataSource.runMigrations())
}

let migrate: () => Promise<void> = () => Promise.reject(new Error('There is no order.'))

/** An order is answered when all is ready for it, and `go` when it is done. */
async function obey(message: MigratingOrder | 'go'): Promise<void> {
  if (message === 'go') await migrate()
  else migrate = await prepare(message)
}

process.on('message', (message: MigratingOrder | 'go') => {
  obey(message).then(
    () => process.send?.('done'),
    (error: unknown) => process.send?.(String(error)),
  )
})
process.send?.('done')
