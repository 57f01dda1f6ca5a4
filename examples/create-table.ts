import { dataSource } from './data-source'

/** Run once before the examples, as you would run your migrations when you deploy. */
async function createTable(): Promise<void> {
  await dataSource.initialize()
  await dataSource.runMigrations()
  await dataSource.destroy()
}

void createTable()
