import { drivers, isNotPrepared, mssqlCode, mysqlCode, postgresCode } from '../drivers/internal'

/** An error as Prisma throws it, or as a driver adapter throws it when it is called without Prisma. */
interface PrismaErrorLike {
  readonly code?: unknown
  readonly meta?: {
    /** The server's code, in Prisma 6 without a driver adapter. */
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
 * The server's code for an error thrown by Prisma, as a string.
 *
 * @returns `undefined` when the error does not come from the server, such as P2024 and P2028 (no connection in time)
 */
export function nativeCode(error: unknown): string | undefined {
  const { code, meta } = error as PrismaErrorLike
  const answer = adapterError(error)
  if (answer) return adapterCode(answer)
  if (typeof code === 'string' && code in CONFLICTS) return code
  return typeof meta?.code === 'string' ? serverCode(meta.code, String(meta.message)) : undefined
}

/**
 * Errors that prove that the statement had no connection: a client that failed to start, the timeout of Prisma 6's pool, and the
 * adapters' kinds of errors. P1001 proves nothing, because engines also report it for connections that break.
 */
const NO_CONNECTION: readonly unknown[] = [
  'PrismaClientInitializationError',
  'P2024',
  'DatabaseNotReachable',
  'AuthenticationFailed',
  'TlsConnectionError',
  'TooManyConnections',
]

/** Whether an error thrown by Prisma proves that no statement was sent. */
export function notSent(error: unknown): boolean {
  const { name, code } = error as PrismaErrorLike
  const { kind } = adapterError(error) ?? {}
  if ([name, code, kind].some((evidence) => NO_CONNECTION.includes(evidence))) return true
  return driverErrors(error).some((one) => Object.values(drivers).some((driver) => driver.notSent(one)))
}

/** Whether it is useless to repeat a statement that was not sent. */
export function lasts(error: unknown): boolean {
  if (adapterError(error)?.kind === 'AuthenticationFailed') return true
  return driverErrors(error).some((one) => Object.values(drivers).some((driver) => driver.lasts(one)))
}

/** The errors of a driver that Prisma's error may contain or be: adapters rethrow what they do not recognise. */
function driverErrors(error: unknown): object[] {
  const { originalCode, originalMessage } = adapterError(error) ?? {}
  return [{ code: originalCode, errno: Number(originalCode), message: originalMessage }, error as object]
}

/**
 * The message with which PostgreSQL, a pooler or pg itself refused the statement's name, so that nothing was executed; else
 * `undefined`.
 */
export function refusalOfName(error: unknown): string | undefined {
  const { originalCode: code, originalMessage: message } = adapterError(error) ?? {}
  // Prisma passes on pg's own errors. The adapter sets an original code only on errors from the server, so the severity that it
  // drops may be assumed.
  const refusal = (error as Error).name === 'Error' ? (error as Error) : { severity: 'ERROR', code, message }
  return isNotPrepared(refusal) ? String(refusal.message) : undefined
}

function adapterError(error: unknown): AdapterError | undefined {
  const { meta, cause } = error as PrismaErrorLike
  return meta?.driverAdapterError?.cause ?? (typeof cause === 'object' ? cause : undefined)
}

function adapterCode({ kind, originalCode, originalMessage, code }: AdapterError): string | undefined {
  if (kind === 'mssql') {
    const number = String(code)
    return FATAL_ON_MSSQL.includes(number) ? undefined : mssqlCode(number)
  }
  const conflict = CONFLICT_OF_KIND[String(kind)]
  // EREQUEST is mssql's code for every error from the server; the adapter has replaced the error's number by its kind.
  if (originalCode === 'EREQUEST') return conflict ?? String(kind)
  if (typeof originalCode === 'string') return serverCode(originalCode, String(originalMessage))
  return conflict ?? (ANSWERS.includes(kind) ? String(kind) : undefined)
}

/** libsql reports codes as numbers: https://www.sqlite.org/rescode.html */
const SQLITE_CODES: Readonly<Record<string, string>> = {
  '5': 'SQLITE_BUSY',
  '261': 'SQLITE_BUSY_RECOVERY',
  '517': 'SQLITE_BUSY_SNAPSHOT',
  '6': 'SQLITE_LOCKED',
  '262': 'SQLITE_LOCKED_SHAREDCACHE',
  '1555': 'SQLITE_CONSTRAINT_PRIMARYKEY',
  '2067': 'SQLITE_CONSTRAINT_UNIQUE',
}

function serverCode(code: string, message: string): string | undefined {
  // SQLite first, because its 2067 looks like one of the MariaDB driver's own codes.
  return SQLITE_CODES[code] ?? (postgresCode(code) && mysqlCode(code, message))
}
