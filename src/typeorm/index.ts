/**
 * TypeORM: pass your DataSource.
 *
 * @module shedlock-orm/typeorm
 */
export { createShedLockMigration, guard, shedLockEntity, typeOrmLockProvider } from './internal'
export type {
  DataSourceLike,
  QueryRunnerLike,
  ShedLock,
  ShedLockEntityOptions,
  TypeOrmLockProviderOptions,
} from './internal'
