import { drivers, type Driver, type RunStatement } from '../drivers/internal'
import { sqliteCode, type DialectName, type SqlRow } from '../sql/internal'
import type { RawClientLike } from './prisma-client'

/** An error as Prisma throws it, or as a driver adapter throws it when it is called without Prisma. */
interface PrismaErrorLike {
  readonly code?: unknown
  /** Prisma's code, if the client could not start. */
  readonly errorCode?: unknown
  readonly meta?: {
    /** The server's code, in Prisma 5, and in Prisma 6 with the Rust engine; `N/A` if the server gave no answer. */
    readonly code?: unknown
    readonly message?: unknown
    readonly driverAdapterError?: { readonly cause?: AdapterError }
  }
  readonly cause?: AdapterError
  readonly name?: unknown
}

interface AdapterError {
  readonly kind?: unknown
  readonly originalCode?: unknown
  readonly originalMessage?: unknown
  readonly code?: unknown
}

/** Prisma's own codes for a lost race, used where it does not pass on the server's code. */
export const CONFLICTS: Readonly<Record<string, string>> = {
  P2002: 'unique constraint: another session inserted the row first',
  P2034: 'write conflict or deadlock: another session wrote first',
}
const CONFLICT_OF_KIND: Readonly<Record<string, string>> = {
  UniqueConstraintViolation: 'P2002',
  TransactionWriteConflict: 'P2034',
}

/**
 * SQL Server's errors of severity 20 and above end the connection, perhaps after the statement took effect. The adapter reports an
 * error's number but not its severity, so this lists the numbers that a statement may cause: a fatal error, a killed session, an
 * unreadable page or log, a failed assertion, a request that was not read completely.
 * https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-error-severities
 */
const FATAL_ON_MSSQL = ['21', '596', '605', '823', '824', '3624', '4014', '9001']

/** Kinds of errors that come from the server, for adapters that report nothing but the kind, such as D1's. */
const ANSWERS: readonly unknown[] = ['TableDoesNotExist', 'ColumnNotFound', 'NullConstraintViolation']

/**
 * Errors that prove that the statement had no connection: a client that failed to start, the timeout of the Rust engine's pool,
 * what it and the adapters report while they connect. P1001 proves nothing, because engines also report it for connections that
 * break.
 */
const NO_CONNECTION: readonly unknown[] = [
  'PrismaClientInitializationError',
  ...['P1000', 'P1003', 'P1011', 'P2024', 'P2037'],
  ...['DatabaseNotReachable', 'AuthenticationFailed', 'TlsConnectionError', 'TooManyConnections'],
]
/** Those of them that remain: a wrong user, password, database or URL. */
const LASTING: readonly unknown[] = ['AuthenticationFailed', 'P1000', 'P1003', 'P1012', 'P1013']

/**
 * How Prisma, or an adapter below it, writes placeholders, and reports errors: they are classified as the database's driver classifies
 * its own. The codes of one database look like those of another, so the dialect must be known.
 */
export function driverOf(dialect: DialectName): Driver {
  const driver = drivers[dialect]
  return {
    ...driver,
    // Prisma passes raw SQL to the driver unchanged, but on SQL Server it names the values `@P1`, `@P2` and so on.
    placeholder: dialect === 'mssql' ? (position) => `@P${position + 1}` : driver.placeholder,
    // P2024 and P2028 (no connection in time) are not from the server.
    errorCode: (error) => {
      const { code } = error as PrismaErrorLike
      const adapter = adapterError(error)
      if (typeof code === 'string' && code in CONFLICTS) return code
      const answer = driverError(dialect, error)
      if (answer) return driver.errorCode(answer)
      const kind = String(adapter?.kind)
      return CONFLICT_OF_KIND[kind] ?? (isAnswer(adapter) ? kind : driver.errorCode(error))
    },
    notSent: (error) => isOneOf(NO_CONNECTION, error) || errorsToAsk(dialect, error).some(driver.notSent),
    lasts: (error) => {
      const { name, errorCode } = error as PrismaErrorLike
      // Without a code, the client was not set up: it found no engine, or no URL.
      if (name === 'PrismaClientInitializationError' && errorCode === undefined) return true
      return isOneOf(LASTING, error) || errorsToAsk(dialect, error).some(driver.lasts)
    },
  }
}

function adapterError(error: unknown): AdapterError | undefined {
  const { meta, cause } = error as PrismaErrorLike
  return meta?.driverAdapterError?.cause ?? (typeof cause === 'object' ? cause : undefined)
}

/** Returns whether a name, a code or a kind of the error is in the list. */
function isOneOf(list: readonly unknown[], error: object): boolean {
  const { name, code, errorCode } = error as PrismaErrorLike
  return [name, code, errorCode, adapterError(error)?.kind].some((evidence) => list.includes(evidence))
}

/** Returns whether only the kind shows that the server answered: EREQUEST is mssql's code for every error from the server. */
function isAnswer(adapter: AdapterError | undefined): boolean {
  return adapter?.originalCode === 'EREQUEST' || ANSWERS.includes(adapter?.kind)
}

/** The errors of the driver that Prisma's error may stand for, or be: adapters rethrow what they do not recognise. */
function errorsToAsk(dialect: DialectName, error: object): object[] {
  return [driverError(dialect, error) ?? [], error].flat()
}

/** What stands for the server's code if there is none: in the Rust engine, and mssql's codes such as EREQUEST. */
const NO_CODE = /^(N\/A|E[A-Z]+)$/

/** Returns the server's error as the driver would throw it, if Prisma's error has its code. */
function driverError(dialect: DialectName, error: unknown): object | undefined {
  const { meta } = error as PrismaErrorLike
  const adapter = adapterError(error)
  const code = adapter ? (adapter.kind === 'mssql' ? String(adapter.code) : adapter.originalCode) : meta?.code
  if (typeof code !== 'string' || NO_CODE.test(code)) return undefined
  return AS_DRIVER_ERROR[dialect]?.(code, adapter ? adapter.originalMessage : meta?.message)
}

type AsDriverError = (code: string, message: unknown) => object

const asPostgresError: AsDriverError = (code, message) => ({ severity: 'ERROR', code, message })
const asMysqlError: AsDriverError = (code, message) => ({ errno: Number(code), sqlState: 'HY000', message })

/** How the driver of each database that Prisma knows reports an error of the server. */
const AS_DRIVER_ERROR: Partial<Record<DialectName, AsDriverError>> = {
  postgres: asPostgresError,
  cockroachdb: asPostgresError,
  mysql: asMysqlError,
  mariadb: asMysqlError,
  sqlite: (code) => ({ code: /^\d+$/.test(code) ? sqliteCode(code) : code }),
  mssql: (number) => ({
    code: 'EREQUEST',
    number: Number(number),
    class: FATAL_ON_MSSQL.includes(number) ? 20 : 16,
  }),
}

/**
 * Runs a statement with a raw call. Statements have no `RETURNING`, because libsql would then report no changed rows. They are
 * never sent as a batch, because Prisma puts BEGIN and COMMIT around it.
 */
export async function runRaw(
  client: RawClientLike,
  ...[text, values, , wants]: Parameters<RunStatement>
): ReturnType<RunStatement> {
  return wants === 'rows'
    ? { rows: (await client.$queryRawUnsafe(text, ...values)) as SqlRow[] }
    : { rows: [], changed: await client.$executeRawUnsafe(text, ...values) }
}
