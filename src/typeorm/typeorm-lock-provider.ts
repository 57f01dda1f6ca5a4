import { checkOptions, invalid, invalidClient } from '../core'
import {
  dialectNamed,
  SQL_LOCK_PROVIDER_OPTIONS,
  SqlLockProvider,
  type DialectName,
  type SqlLockProviderOptions,
} from '../sql'
import { dialectOf, inSchemaOf, type DataSourceLike } from './data-source-like'
import { ownQueryRunner, queryRunnerSqlExecutor } from './query-runner-sql-executor'
import { sqliteSqlExecutor } from './sqlite-sql-executor'

/** Options of `typeOrmLockProvider`. */
export interface TypeOrmLockProviderOptions extends SqlLockProviderOptions {
  /** Default: what the DataSource's `type` says. */
  readonly dialect?: DialectName | undefined
  /**
   * PostgreSQL: whether lock statements are prepared by name, so that the server plans each of them once for a connection.
   * Where a pooler refuses a name, the provider goes on without, and tells the DataSource's logger. Default `true`.
   */
  readonly namedStatements?: boolean | undefined
}

/**
 * Keeps locks in a table of the database that the DataSource is connected to. Each step runs in autocommit on a pooled
 * connection of its own: your open transactions neither see nor undo it. SQLite files are opened a second time; an
 * in-memory SQLite has one connection only, so that a lock waits there until your open transaction is over. The DataSource may
 * be initialised later, before the first lock; without a `schema` here the table is in the DataSource's own.
 *
 * @throws LockError `INVALID_CLIENT` when it is no DataSource, or of a database that has no dialect here;
 *   `INVALID_CONFIGURATION` for wrong options
 */
export function typeOrmLockProvider(
  dataSource: DataSourceLike,
  options: TypeOrmLockProviderOptions = {},
): SqlLockProvider {
  checkOptions(options, [...SQL_LOCK_PROVIDER_OPTIONS, 'dialect', 'namedStatements'], 'lock provider options')
  const { dialect: wanted, namedStatements = true, ...rest } = options
  if (typeof namedStatements !== 'boolean') throw invalid('namedStatements must be true or false.')
  if (typeof (dataSource as DataSourceLike | undefined)?.createQueryRunner !== 'function')
    throw invalidClient(
      'typeOrmLockProvider needs a TypeORM DataSource – an EntityManager or a QueryRunner would make the lock part of a transaction.',
    )
  const dialect = dialectNamed(wanted ?? dialectOf(dataSource.options))
  const executor =
    dialect.name === 'sqlite'
      ? sqliteSqlExecutor(dataSource)
      : queryRunnerSqlExecutor(
          ownQueryRunner(dataSource),
          dialect.name,
          namedStatements && dialect.name === 'postgres',
        )
  return new SqlLockProvider(executor, dialect, { ...rest, ...inSchemaOf(dataSource.options, rest) })
}
