/**
 * TypeORM: pass your DataSource.
 *
 * @module shedlock-orm/typeorm
 */
export type { DataSourceLike, QueryRunnerLike } from './data-source-like'
export { guard } from './guard'
export type { TransactionLike } from './guard'
export { createShedLockMigration, shedLockEntity } from './lock-table'
export type { ShedLock, ShedLockEntityOptions, ShedLockMigration } from './lock-table'
export { typeOrmLockProvider } from './typeorm-lock-provider'
export type { TypeOrmLockProviderOptions } from './typeorm-lock-provider'

/** @internal for the command line */
export { CLIENT_DIALECTS } from './data-source-like'
