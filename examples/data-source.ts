import { createShedLockMigration } from 'shedlock-orm/typeorm'
import { DataSource } from 'typeorm'

export const dataSource = new DataSource({
  type: 'postgres',
  url: process.env['DATABASE_URL'] ?? 'postgres://postgres@localhost:5432/postgres',
  // pg waits for ever by default
  connectTimeoutMS: 4_000,
  migrations: [createShedLockMigration()],
})
