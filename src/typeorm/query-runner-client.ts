import { clientError, type LockError } from '../core/internal'
import { drivers, sqlClient, type Driver } from '../drivers/internal'
import { IN_TRANSACTION, unfitError, type DialectName, type SqlClient } from '../sql/internal'
import { dataSourceOf, serverOf, type DataSourceLike, type QueryRunnerLike } from './data-source-like'
import { mysqlConnection } from './mysql-client'
import { endPgClient, pgConnection } from './pg-client'
import { runText, type DriverConnection } from './run-statement'

/** @returns `INVALID_CLIENT` before `initialize()` and after `destroy()`, because TypeORM's own errors do not say what to do */
export function uninitialisedError({ isInitialized }: DataSourceLike): LockError | undefined {
  if (isInitialized) return undefined
  return clientError(
    'The DataSource is not initialised, or was destroyed – await dataSource.initialize() before the first lock, and stop the jobs before destroy().',
  )
}

/**
 * Borrows a query runner for each session, so that its statements run in autocommit on a pooled connection. `dataSource.query()` is
 * unsuitable, because it drops the number of changed rows and joins the ambient transaction of typeorm-transactional.
 *
 * @param named prepares the statements about a single lock by name, on PostgreSQL
 */
export function queryRunnerClient(
  dataSource: DataSourceLike,
  dialect: DialectName,
  named: boolean,
): SqlClient {
  const driver = driverConnection(dialect, named)
  // Taken now, because a proxy may become another DataSource later.
  const createQueryRunner = dataSource.createQueryRunner.bind(dataSource)
  return sqlClient(driverOf(dialect), {
    pool: dataSource,
    server: serverOf(dataSource.options),
    schema: driver.schema && (() => driver.schema?.(driverBehind(createQueryRunner, dataSource))),
    connect: async () => {
      const unusable = uninitialisedError(dataSource)
      if (unusable) throw unusable
      // A replica may return a stale row.
      const queryRunner = createQueryRunner('master')
      if (queryRunner.isTransactionActive)
        throw clientError(
          'The DataSource returned the query runner of an open transaction, whose rollback would undo a lock – pass the DataSource itself, not a proxy.',
        )
      try {
        const connecting = driver.connect?.(dataSource.driver, queryRunner) ?? queryRunner.connect()
        const connection = ((await connecting) as object | undefined) ?? {}
        if (driver.isInTransaction?.(connection)) throw unfitError(IN_TRANSACTION)
        const on = { dataSource, queryRunner, connection }
        const release = () => queryRunner.release()
        const end = () => {
          driver.end?.(connection)
          return release()
        }
        return {
          run: (text, values, statement) => driver.run(on, text, values, statement),
          release,
          end: driver.end && end,
        }
      } catch (error) {
        await queryRunner.release().catch(() => undefined)
        throw error
      }
    },
    unusable: () => uninitialisedError(dataSource),
    stopConnecting: () => driver.dropUnaccepted?.(dataSource.driver),
  })
}

/** A query runner knows the driver to which a proxy leads. One that wraps another need not say it. */
function driverBehind(
  createQueryRunner: DataSourceLike['createQueryRunner'],
  { driver }: DataSourceLike,
): unknown {
  return (createQueryRunner('master') as { driver?: unknown }).driver ?? driver
}

/** Sends statements on the caller's query runner, and leaves it to the caller to release it. */
export function givenQueryRunner(queryRunner: QueryRunnerLike, dialect: DialectName): SqlClient {
  const driver = driverConnection(dialect, false, true)
  const dataSource = dataSourceOf(queryRunner)
  return sqlClient(driverOf(dialect), async (text, values, statement) => {
    const connection = (await queryRunner.connect()) ?? {}
    return driver.run({ dataSource, queryRunner, connection }, text, values, statement)
  })
}

/** Reads the driver's own error from an error of TypeORM. */
function driverOf(dialect: DialectName): Driver {
  const { errorCode, notSent, lasts, ...driver } = drivers[dialect]
  const unwrapped = (error: { driverError?: object }): object => error.driverError ?? error
  return {
    ...driver,
    errorCode: (error) => errorCode(unwrapped(error)),
    notSent: (error) => notSent(unwrapped(error)),
    lasts: (error) => lasts(unwrapped(error)),
  }
}

function driverConnection(dialect: DialectName, named: boolean, isGiven = false): DriverConnection {
  return (CONNECTIONS[dialect] ?? plainConnection)(named, isGiven)
}

const plainConnection = (): DriverConnection => ({
  run: ({ queryRunner }, text, values) => runText(queryRunner, text, values),
})

/** The drivers that need more than TypeORM's own `query`. SQL Server's query runners do not expose their connections. */
const CONNECTIONS: Readonly<
  Partial<Record<DialectName, (named: boolean, isGiven: boolean) => DriverConnection>>
> = {
  postgres: pgConnection,
  cockroachdb: () => ({ ...plainConnection(), end: endPgClient }),
  mysql: (_, isGiven) => mysqlConnection(isGiven),
  mariadb: (_, isGiven) => mysqlConnection(isGiven),
  oracle: () => ({ ...plainConnection(), end: dropConnection }),
  spanner: () => ({ run: runOnSpanner }),
  sqlite: () => ({ run: runOnSqlite }),
}

/** Ends an oracledb connection: https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.close */
function dropConnection(connection: { close?(options: object): Promise<void> }): void {
  connection.close?.({ drop: true }).catch(() => undefined)
}

/** TypeORM's type `sqlite` counts the rows that a statement changes only if it begins in upper case. */
const runOnSqlite: DriverConnection['run'] = ({ queryRunner }, text, values) =>
  runText(
    queryRunner,
    text.replace(/^(insert|update|delete) /, (verb) => verb.toUpperCase()),
    values,
  )

/** TypeORM runs a statement that does not begin with an upper-case SELECT in a transaction, which takes locks. */
const runOnSpanner: DriverConnection['run'] = ({ queryRunner }, text, values) =>
  runText(queryRunner, text.replace(/^select /, 'SELECT '), values)
