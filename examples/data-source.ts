import { createShedLockMigration } from 'shedlock-orm/typeorm'
import { DataSource } from 'typeorm'

export const dataSource = new DataSource({
  type: 'postgres',
  url: process.env['DATABASE_URL'] ?? 'postgres://postgres@localhost:5432/postgres',
  migrations: [createShedLockMigration()],
})
