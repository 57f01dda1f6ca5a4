import { drivers, isNameRefused, mssqlCode, mysqlCode, postgresCode } from '../drivers/internal'

/** What Prisma makes of a driver's error, and what the adapter makes of it when it is called without Prisma. */
interface PrismaErrorLike {
  readonly code?: unknown
  readonly meta?: {
    /** Prisma 6 without a driver adapter. */
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

/** Where Prisma keeps the server's code to itself, its own two names for a lost race have to do. */
export const CONFLICTS: Readonly<Record<string, string>> = {
  P2002: 'unique constraint: another session made the row first',
  P2034: 'write conflict or deadlock: another session wrote first',
}
const CONFLICT_OF_KIND: Readonly<Record<string, string>> = {
  UniqueConstraintViolation: 'P2002',
  TransactionWriteConflict: 'P2034',
}

/**
 * SQL Server's errors of severity 20 and more end the connection, and may come after the statement took effect. The adapter
 * keeps their number but not their severity, so these are those that a statement may meet: a fatal error, a session that
 * was killed, a page or the log that cannot be read, a failed assertion, a request that was not read to its end.
 * https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-error-severities
 */
const FATAL_ON_MSSQL = ['21', '596', '605', '823', '824', '3624', '4014', '9001']

/** What the server answered where the adapter keeps only the kind of error, as D1's does. */
const ANSWERS: readonly unknown[] = ['TableDoesNotExist', 'ColumnNotFound', 'NullConstraintViolation']

/**
 * The server's code for an error that Prisma passed on, as text.
 *
 * @returns `undefined` when the error is not an answer of the server, such as P2024 and P2028 (no connection in time)
 */
export function nativeCode(error: unknown): string | undefined {
  const { code, meta } = error as PrismaErrorLike
  const answer = adapterError(error)
  if (answer) return adapterCode(answer)
  if (typeof code === 'string' && code in CONFLICTS) return code
  return typeof meta?.code === 'string' ? serverCode(meta.code, String(meta.message)) : undefined
}

/**
 * Where it is certain that there was no connection for the statement: a client that could not start, the limit of time of
 * Prisma 6's pool, and what the adapters say. Not P1001 alone, which engines say of connections that break, too.
 */
const NO_CONNECTION: readonly unknown[] = [
  'PrismaClientInitializationError',
  'P2024',
  'DatabaseNotReachable',
  'AuthenticationFailed',
  'TlsConnectionError',
  'TooManyConnections',
]

/** Whether it is certain from an error that Prisma passed on that no statement was sent. */
export function notSent(error: unknown): boolean {
  const { name, code } = error as PrismaErrorLike
  const { kind, originalCode, originalMessage } = adapterError(error) ?? {}
  if ([name, code, kind].some((each) => NO_CONNECTION.includes(each))) return true
  // Adapters pass on what they do not know as it is.
  const answers = [{ code: originalCode, errno: originalCode, message: originalMessage }, error as object]
  return Object.values(drivers).some((driver) => answers.some((each) => driver.notSent(each)))
}

/** What PostgreSQL or a pooler said when it refused the statement's name, so that nothing was executed. */
export function refusalOfName(error: unknown): string | undefined {
  const { originalCode: code, originalMessage: message } = adapterError(error) ?? {}
  // The adapter has an original code only for what the server said.
  return isNameRefused({ severity: 'ERROR', code, message }) ? String(message) : undefined
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
  // mssql's name for all that the server answers; of its numbers the adapter leaves only the kind.
  if (originalCode === 'EREQUEST') return conflict ?? String(kind)
  if (typeof originalCode === 'string') return serverCode(originalCode, String(originalMessage))
  return conflict ?? (ANSWERS.includes(kind) ? String(kind) : undefined)
}

/** libsql's, by number: https://www.sqlite.org/rescode.html */
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
  // SQLite's first: 2067 looks like one of the MariaDB driver's own.
  return SQLITE_CODES[code] ?? (postgresCode(code) && mysqlCode(code, message))
}
