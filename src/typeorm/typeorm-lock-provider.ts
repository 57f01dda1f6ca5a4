import { LockError } from '../core'
import { dialectNamed, SqlLockProvider, type DialectName, type SqlLockProviderOptions } from '../sql'
import { CLIENT_DIALECTS } from './client-dialects'
import type { DataSourceLike } from './data-source-like'
import { ownQueryRunner, queryRunnerSqlExecutor } from './query-runner-sql-executor'
import { sqliteSqlExecutor } from './sqlite-sql-executor'

/** Options of `typeOrmLockProvider`. */
export interface TypeOrmLockProviderOptions extends SqlLockProviderOptions {
  /** Default: what the DataSource's `type` says. */
  readonly dialect?: DialectName | undefined
  /**
   * PostgreSQL: whether lock statements are prepared by name, so that the server plans each of them once for a connection.
   * Where a pooler or the server refuses a name, the provider goes on without names by itself, and the DataSource's logger is
   * told once. Default `true`.
   */
  readonly namedStatements?: boolean | undefined
}

/**
 * Keeps locks in a table of the database that the DataSource is connected to. Each step runs in autocommit on a pooled
 * connection of its own: your open transactions neither see nor undo it. SQLite files are opened a second time; an
 * in-memory SQLite has one connection only, so that a lock waits there until your open transaction is over.
 *
 * The DataSource may still be uninitialised here; it must be initialised when the first lock is asked for.
 *
 * @throws LockError `INVALID_CLIENT` when it is no DataSource, or of a database that has no dialect here;
 *   `INVALID_CONFIGURATION` for wrong options
 */
export function typeOrmLockProvider(
  dataSource: DataSourceLike,
  options: TypeOrmLockProviderOptions = {},
): SqlLockProvider {
  const { dialect: wanted, namedStatements = true, ...rest } = options
  if (typeof namedStatements !== 'boolean')
    throw new LockError('INVALID_CONFIGURATION', 'namedStatements must be true or false.')
  const dialect = dialectNamed(wanted ?? dialectOf(dataSource))
  const named = namedStatements && dialect.name === 'postgres'
  const executor =
    dialect.name === 'sqlite'
      ? sqliteSqlExecutor(dataSource)
      : queryRunnerSqlExecutor(ownQueryRunner(dataSource), dialect.name, named)
  return new SqlLockProvider(executor, dialect, rest)
}

function dialectOf(dataSource: DataSourceLike): DialectName {
  if (typeof (dataSource as DataSourceLike | undefined)?.createQueryRunner !== 'function') {
    throw new LockError(
      'INVALID_CLIENT',
      'typeOrmLockProvider needs a TypeORM DataSource – an EntityManager or a QueryRunner would make the lock part of a transaction.',
    )
  }
  const { type } = dataSource.options
  const name = CLIENT_DIALECTS[type]
  if (!name) {
    throw new LockError(
      'INVALID_CLIENT',
      `A DataSource of type '${type}' cannot keep locks – supported are ${Object.keys(CLIENT_DIALECTS).join(', ')}.`,
    )
  }
  return name
}
