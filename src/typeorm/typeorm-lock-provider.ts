import { aBoolean, parseOptions, clientError, FOR_MOCKS, type OptionParsers } from '../core/internal'
import {
  dialectNamed,
  SQL_LOCK_PROVIDER_OPTIONS,
  SqlLockProvider,
  type DialectName,
  type SqlLockProviderOptions,
} from '../sql/internal'
import { dialectOfDataSource, type DataSourceLike } from './data-source-like'
import { tableIn } from './entity'
import { queryRunnerClient } from './query-runner-client'
import { sqliteClient } from './sqlite-client'

/** Options of `typeOrmLockProvider`. */
export interface TypeOrmLockProviderOptions extends SqlLockProviderOptions {
  /** The dialect of the database. Default: derived from the DataSource's `type`. */
  readonly dialect?: DialectName | undefined
  /**
   * On PostgreSQL: whether lock statements are prepared by name, so that the server plans each of them once per connection. If a
   * pooler refuses a name, the provider continues without names, and the process warns once. Default `true`.
   */
  readonly namedStatements?: boolean | undefined
}

const OPTIONS = {
  ...SQL_LOCK_PROVIDER_OPTIONS,
  dialect: dialectNamed,
  namedStatements: aBoolean,
} satisfies OptionParsers<TypeOrmLockProviderOptions>

/**
 * Creates a lock provider that keeps its locks in a table of the DataSource's database. Each statement runs in autocommit on a connection
 * that no transaction of yours uses, so they neither hide nor undo it: see `ownConnections`. A SQLite file is opened a second time; an in-memory
 * SQLite database has only one connection, so there a lock waits until your open transaction has ended. Initialise the DataSource
 * before the first lock. The table is the one that `shedLockEntity` means: in the DataSource's own schema without the option `schema`,
 * and with its `entityPrefix` and its naming strategy applied to all names, given ones too.
 *
 * @throws LockError `INVALID_CLIENT` when `dataSource` is not a DataSource, or its database is not supported;
 *   `INVALID_CONFIGURATION` for wrong options
 */
export function typeOrmLockProvider(
  dataSource: DataSourceLike,
  options: TypeOrmLockProviderOptions = {},
): SqlLockProvider {
  const parsed = parseOptions(options, OPTIONS, 'lock provider options')
  const { dialect: given, namedStatements = true, ...rest } = parsed
  const { createQueryRunner, options: own } = (dataSource as Partial<DataSourceLike> | undefined) ?? {}
  if (typeof createQueryRunner !== 'function' || own?.type === undefined)
    throw clientError(
      `typeOrmLockProvider needs a TypeORM DataSource – pass the DataSource itself: an EntityManager or a QueryRunner would make the lock part of a transaction. ${FOR_MOCKS}`,
    )
  const dialect = given ?? dialectNamed(dialectOfDataSource(dataSource.options))
  const client =
    dialect.name === 'sqlite'
      ? sqliteClient(dataSource)
      : queryRunnerClient(dataSource, dialect.name, namedStatements)
  return new SqlLockProvider(client, dialect, { ...rest, ...tableIn(dataSource, dialect, rest) })
}
