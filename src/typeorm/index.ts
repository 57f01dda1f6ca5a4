/**
 * TypeORM: pass your DataSource.
 *
 * @module shedlock-orm/typeorm
 */
export { CLIENT_DIALECTS } from './client-dialects'
export type { DataSourceLike, LoggerLike, QueryResultLike, QueryRunnerLike } from './data-source-like'
export { createShedLockTable } from './create-shed-lock-table'
export { guard } from './guard'
export type { TransactionLike, TransactionQueryRunnerLike } from './guard'
export { shedLockEntity } from './shed-lock-entity'
export type { ShedLock, ShedLockEntityOptions } from './shed-lock-entity'
export { createShedLockMigration } from './shed-lock-migration'
export type { MigrationQueryRunnerLike, ShedLockMigration } from './shed-lock-migration'
export { typeOrmLockProvider } from './typeorm-lock-provider'
export type { TypeOrmLockProviderOptions } from './typeorm-lock-provider'
