import { DataSource, type DataSourceOptions } from 'typeorm'
import { createShedLockMigration } from '../../src/typeorm/migration'

async function prepare(typeOrm: DataSourceOptions): Promise<() => Promise<void>> {
  const migrations = [createShedLockMigration()]
  const dataSource = await new DataSource({
    ...typeOrm,
    poolSize: 2,
    migrations,
  } as DataSourceOptions).initialize()
  return async () => {
    try {
      await dataSource.runMigrations()
    } finally {
      await dataSource.destroy()
    }
  }
}

let migrate: () => Promise<void> = () => Promise.reject(new Error('There is no order.'))

/** A database is answered when all is ready for it, and `go` when it is migrated. */
async function obey(message: DataSourceOptions | 'go'): Promise<void> {
  if (message === 'go') await migrate()
  else migrate = await prepare(message)
}

process.on('message', (message: DataSourceOptions | 'go') => {
  obey(message).then(
    () => process.send?.('done'),
    (error: unknown) => process.send?.(String(error)),
  )
})
process.send?.('done')
