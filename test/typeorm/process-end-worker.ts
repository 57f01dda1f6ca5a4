import { DataSource, type DataSourceOptions } from 'typeorm'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'

/** An app that ends its DataSource, and forgets a lock. It prints what it did. */
async function main(options: DataSourceOptions): Promise<void> {
  const dataSource = await new DataSource(options).initialize()
  const lock = await typeOrmLockProvider(dataSource).lock({ name: 'held', lockAtMostFor: '1h' })
  console.log(lock?.name)
  await dataSource.destroy()
  console.log('destroyed')
}

void main(JSON.parse(process.argv[2] ?? '') as DataSourceOptions)
