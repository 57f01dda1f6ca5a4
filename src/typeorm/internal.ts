/** What the command line imports from this folder: the public API, and a few internal names. */
export { DATABASE_TYPES, dialectOfDataSource } from './data-source-like'
export type { DataSourceLike, QueryRunnerLike } from './data-source-like'
export { guard } from './guard'
export { shedLockEntity, type ShedLock, type ShedLockEntityOptions } from './entity'
export { createShedLockMigration } from './migration'
export { typeOrmLockProvider, type TypeOrmLockProviderOptions } from './typeorm-lock-provider'
