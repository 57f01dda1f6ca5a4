import { clientError, warn, type LockError } from '../core/internal'
import {
  drivers,
  endMySqlConnection,
  endPgClient,
  isInPgTransaction,
  openMySqlConnection,
  openPgClient,
  isMySqlConnection,
  isPgClient,
  Preparation,
  runOnMySql,
  runOnPg,
  sqlClient,
  withValues,
  type Driver,
  type DriverSession,
  type Mysql2Like,
  type MySqlPoolLike,
  type OpenConnection,
  type PgPoolLike,
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
  /** Runs a statement on the driver's own connection. Default: with TypeORM's own `query`. */
  readonly run?: (
    connection: object,
    preparation: Preparation,
    ...statement: Parameters<RunStatement>
  ) => Promise<StatementResult>
  /** Whether `run` can use this connection of TypeORM: other packages stand in for the drivers. */
  readonly canUse?: (connection: object) => boolean
  /** Writes a statement for TypeORM's own `query`. Default: as it is. */
  readonly written?: (
    text: string,
    values: unknown[],
    connection: object,
  ) => [text: string, values: unknown[]]
  /** Opens a connection beside TypeORM's pool. @param driver TypeORM's driver */
  readonly open?: (driver: TypeOrmDriverLike) => Promise<OpenConnection<object>>
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
  readonly master?: PgPoolLike
  /** The module mysql2. */
  readonly mysql?: Mysql2Like
  readonly pool?: MySqlPoolLike
  readonly poolCluster?: { readonly _nodes?: { readonly MASTER?: { readonly pool?: MySqlPoolLike } } }
}

const PG: DriverBelow = {
  run: runOnPg,
  canUse: isPgClient,
  open: ({ master = {} }) => openPgClient(master),
  isInTransaction: isInPgTransaction,
  end: endPgClient,
}

const MYSQL: DriverBelow = {
  run: runOnMySql,
  canUse: isMySqlConnection,
  // Aurora's Data API has no connection, and binds the values itself.
  written: (text, values, connection) =>
    isMySqlConnection(connection) ? [withValues(text, values), []] : [text, values],
  open: ({ mysql = {}, pool, poolCluster }) =>
    openMySqlConnection(mysql, pool ?? poolCluster?._nodes?.MASTER?.pool),
  // TypeORM reads it from the options, or from its first connection.
  schema: ({ database }) => database,
  end: endMySqlConnection,
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

/** All providers of a DataSource share its connections, and so what is known about prepared statements. */
const preparations = new WeakMap<object, Preparation>()

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
  const below = BELOW[dialect] ?? {}
  const { open, schema, end, isInTransaction, canUse } = below
  const preparation = preparations.get(dataSource) ?? new Preparation(true)
  preparations.set(dataSource, preparation)
  if (!named) preparation.isOn = false
  // Taken now, because a proxy may become another DataSource later.
  const createQueryRunner = dataSource.createQueryRunner.bind(dataSource)
  const ownSession =
    open &&
    (async (): Promise<DriverSession> => {
      const { connection, ...session } = await open(driverBehind(createQueryRunner, dataSource))
      return { ...session, run: runOn(below, connection, preparation, dataSource) }
    })
  const { type, ...options } = dataSource.options
  return sqlClient(driverOf(dialect), {
    pool: dataSource,
    server: serverOf(dataSource.options),
    schema: schema && (() => schema(driverBehind(createQueryRunner, dataSource))),
    open: type.startsWith('aurora') ? undefined : ownSession,
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
        const connection = ((await queryRunner.connect()) as object | undefined) ?? {}
        if (isInTransaction?.(connection)) throw unfitError(IN_TRANSACTION)
        const release = () => queryRunner.release()
        return {
          run: canUse?.(connection)
            ? runOn(below, connection, preparation, dataSource)
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

/** A query runner knows the driver to which a proxy leads. One that wraps another need not say it. */
function driverBehind(
  createQueryRunner: DataSourceLike['createQueryRunner'],
  { driver }: DataSourceLike,
): TypeOrmDriverLike {
  return (
    (createQueryRunner('master') as { driver?: TypeOrmDriverLike }).driver ?? (driver as TypeOrmDriverLike)
  )
}

/** Sends statements on the caller's query runner, whose transaction expects TypeORM's errors, and leaves it to the caller to release it. */
export function givenQueryRunner(queryRunner: QueryRunnerLike, dialect: DialectName): SqlClient {
  return sqlClient(driverOf(dialect), async (...statement) => {
    const connection = ((await queryRunner.connect()) as object | undefined) ?? {}
    return runWritten(BELOW[dialect] ?? {}, queryRunner, connection)(...statement)
  })
}

function runWritten(
  { written }: DriverBelow,
  queryRunner: QueryRunnerLike,
  connection: object,
): RunStatement {
  return (text, values) =>
    runText(queryRunner, ...(written?.(text, values, connection) ?? ([text, values] as const)))
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
 * Runs statements on the driver's own connection, and logs them where the app logs its queries. They are nobody's errors: what failed is
 * repeated, or thrown.
 */
function runOn(
  { run }: DriverBelow,
  connection: object,
  preparation: Preparation,
  { logger }: DataSourceLike,
): RunStatement {
  return async (...statement) => {
    const [text, values] = statement
    try {
      logger?.logQuery(text, values)
    } catch (error) {
      // No error of a logger loses a lock.
      warn(error)
    }
    return (await run?.(connection, preparation, ...statement)) ?? { rows: [] }
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
