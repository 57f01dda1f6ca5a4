import { clientError, warn, type LockError } from '../core/internal'
import {
  drivers,
  mysql2,
  pg,
  Preparation,
  sqlClient,
  type Driver,
  type DriverSession,
  type RunStatement,
} from '../drivers/internal'
import {
  IN_TRANSACTION,
  unfitError,
  type DialectName,
  type SqlClient,
  type SqlRow,
  type StatementResult,
} from '../sql/internal'
import { serverOf, type DataSourceLike, type QueryRunnerLike } from './data-source-like'

/** @returns what creates `INVALID_CLIENT` before `initialize()` and after `destroy()`, because TypeORM's own errors do not say what to do */
export function unusableUnlessInitialised(dataSource: DataSourceLike): () => LockError | undefined {
  return () =>
    dataSource.isInitialized
      ? undefined
      : clientError(
          'The DataSource is not initialised, or was destroyed – await dataSource.initialize() before the first lock, and stop the jobs before destroy().',
        )
}

/** What is special about a driver below TypeORM. */
interface DriverBelow {
  /** How locks use the driver itself. Default: TypeORM's pool, and its own `query`. */
  readonly direct?: {
    /** Opens a connection beside TypeORM's pool. @param driver TypeORM's driver */
    readonly open: (driver: TypeOrmDriverLike, preparation: Preparation) => Promise<DriverSession>
    /** Whether a connection of TypeORM is one of this driver: other packages stand in for it. */
    readonly isConnection: (connection: object) => boolean
    readonly run: (
      connection: object,
      preparation: Preparation,
      ...statement: Parameters<RunStatement>
    ) => Promise<StatementResult>
  }
  /** Writes a statement for TypeORM's own `query`. Default: as it is. */
  readonly written?: (
    text: string,
    values: unknown[],
    connection: object,
  ) => [text: string, values: unknown[]]
  /** Returns the schema with which connections begin, if it is known. @param driver TypeORM's driver */
  readonly schema?: (driver: TypeOrmDriverLike) => string | undefined
  /** Whether a transaction is open on the connection, if the driver knows. */
  readonly isInTransaction?: (connection: object) => boolean
  /** Closes a connection, so that the pool opens a new one. */
  readonly end?: (connection: object) => unknown
}

/** What this library uses of TypeORM's drivers. With `replication`, their pools are the primary's. */
interface TypeOrmDriverLike {
  readonly database?: string
  /** The pool of pg. */
  readonly master?: pg.PgPoolLike
  /** The module mysql2. */
  readonly mysql?: mysql2.Mysql2Like
  readonly pool?: mysql2.MySqlPoolLike
  readonly poolCluster?: { readonly _nodes?: { readonly MASTER?: { readonly pool?: mysql2.MySqlPoolLike } } }
}

const PG: DriverBelow = {
  direct: {
    open: ({ master = {} }, preparation) => pg.openPgClient(master, preparation),
    isConnection: pg.isPgClient,
    run: pg.runOnPg,
  },
  isInTransaction: pg.isInPgTransaction,
  end: pg.endPgClient,
}

const MYSQL: DriverBelow = {
  direct: {
    open: ({ mysql = {}, pool, poolCluster }, preparation) =>
      mysql2.openMySqlConnection(mysql, pool ?? poolCluster?._nodes?.MASTER?.pool, preparation),
    isConnection: mysql2.isMySqlConnection,
    run: mysql2.runOnMySql,
  },
  // Aurora's Data API has no connection, and binds the values itself.
  written: (text, values, connection) =>
    mysql2.isMySqlConnection(connection) ? [mysql2.withValues(text, values), []] : [text, values],
  // TypeORM reads it from the options, or from its first connection.
  schema: ({ database }) => database,
  end: mysql2.endMySqlConnection,
}

/** The drivers that need more than TypeORM's own `query`. SQL Server's query runners do not expose their connections. */
const BELOW: Readonly<Partial<Record<DialectName, DriverBelow>>> = {
  postgres: PG,
  cockroachdb: PG,
  mysql: MYSQL,
  mariadb: MYSQL,
  // https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.close
  oracle: {
    end: (connection: { close?(options: object): Promise<void> }) => {
      connection.close?.({ drop: true }).catch(() => undefined)
    },
  },
  // TypeORM runs a statement that does not begin with an upper-case SELECT in a transaction, which takes locks.
  spanner: { written: (text, values) => [text.replace(/^select /, 'SELECT '), values] },
  // TypeORM's type `sqlite` counts the rows that a statement changes only if it begins in upper case.
  sqlite: {
    written: (text, values) => [
      text.replace(/^(insert|update|delete) /, (verb) => verb.toUpperCase()),
      values,
    ],
  },
}

/**
 * Opens a connection beside the DataSource's pool for each session, with the driver below TypeORM; or borrows a query runner.
 * `dataSource.query()` is unsuitable, because it drops the number of changed rows and joins the ambient transaction of
 * typeorm-transactional.
 *
 * @param named prepares the statements about a single lock by name, on PostgreSQL
 */
export function queryRunnerClient(
  dataSource: DataSourceLike,
  dialect: DialectName,
  named: boolean,
): SqlClient {
  const { options } = dataSource
  const below = BELOW[dialect] ?? {}
  const { schema, end, isInTransaction } = below
  // Aurora's Data API has no connection.
  const direct = options.type.startsWith('aurora') ? undefined : below.direct
  const preparation = new Preparation(named)
  // Taken now, because a proxy may become another DataSource later.
  const createQueryRunner = dataSource.createQueryRunner.bind(dataSource)
  // A query runner knows the driver to which a proxy leads. One that wraps another need not say it.
  const driverBehind = () =>
    Object(
      (createQueryRunner('master') as { driver?: unknown }).driver ?? dataSource.driver,
    ) as TypeOrmDriverLike
  return sqlClient(driverOf(dialect), {
    pool: dataSource,
    server: serverOf(options),
    schema: schema && (() => schema(driverBehind())),
    open:
      direct &&
      (async () => {
        const session = await direct.open(driverBehind(), preparation)
        return { ...session, run: logged(dataSource, session.run) }
      }),
    source: () => {
      const { master, pool, poolCluster } = Object(dataSource.driver) as TypeOrmDriverLike
      return master ?? pool ?? poolCluster
    },
    keepsOne: poolSizeIn(options) >= LARGE_ENOUGH,
    connect: async () => {
      // A replica may return a stale row.
      const queryRunner = createQueryRunner('master')
      if (queryRunner.isTransactionActive)
        throw clientError(
          'The DataSource returned the query runner of an open transaction, whose rollback would undo a lock – pass the DataSource itself, not a proxy.',
        )
      try {
        const connection = await connectionOf(queryRunner)
        if (isInTransaction?.(connection)) throw unfitError(IN_TRANSACTION)
        const release = () => queryRunner.release()
        return {
          run: direct?.isConnection(connection)
            ? logged(dataSource, direct.run.bind(direct, connection, preparation))
            : runWritten(below, queryRunner, connection),
          release,
          end:
            end &&
            (() => {
              end(connection)
              return release()
            }),
        }
      } catch (error) {
        await queryRunner.release().catch(() => undefined)
        throw error
      }
    },
    unusable: unusableUnlessInitialised(dataSource),
  })
}

/** Smaller pools have no connection to spare while a lock is held. */
const LARGE_ENOUGH = 3

/** Returns how many connections the pool of a DataSource may have, by the names that its drivers give to that. */
function poolSizeIn({ poolSize, extra }: { poolSize?: unknown; extra?: unknown }): number {
  const { max, connectionLimit, poolMax } = Object(extra) as Record<string, unknown>
  // The smallest default is that of Oracle.
  return Number(poolSize ?? max ?? connectionLimit ?? poolMax ?? 4)
}

/** Sends statements on the caller's query runner, whose transaction expects TypeORM's errors, and leaves it to the caller to release it. */
export function givenQueryRunner(queryRunner: QueryRunnerLike, dialect: DialectName): SqlClient {
  return sqlClient(driverOf(dialect), async (...statement) => {
    const connection = await connectionOf(queryRunner)
    return runWritten(BELOW[dialect] ?? {}, queryRunner, connection)(...statement)
  })
}

/** Returns the driver's own connection; an object of no driver if there is none. */
async function connectionOf(queryRunner: QueryRunnerLike): Promise<object> {
  return Object(await queryRunner.connect()) as object
}

function runWritten(
  { written = (text, values) => [text, values] }: DriverBelow,
  queryRunner: QueryRunnerLike,
  connection: object,
): RunStatement {
  return (text, values) => runText(queryRunner, ...written(text, values, connection))
}

/** Runs a statement with TypeORM's own `query`, or DDL on Spanner with `updateDDL`. */
export async function runText(
  queryRunner: QueryRunnerLike,
  text: string,
  values: unknown[] = [],
): Promise<StatementResult> {
  if (queryRunner.updateDDL && /^(create|drop) /.test(text)) {
    await queryRunner.updateDDL(text)
    return { rows: [] }
  }
  const { records, affected } = await queryRunner.query(text, values, true)
  return { rows: (records ?? []) as SqlRow[], changed: affected }
}

/**
 * Logs the statements on the driver's own connection where the app logs its queries. They are nobody's errors: what failed is repeated, or
 * thrown.
 */
function logged({ logger }: DataSourceLike, run: RunStatement): RunStatement {
  return (...statement) => {
    const [text, values] = statement
    try {
      logger?.logQuery(text, values)
    } catch (error) {
      // No error of a logger loses a lock.
      warn(error)
    }
    return run(...statement)
  }
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
