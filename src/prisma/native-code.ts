/** What Prisma makes of a driver's error, and what the adapter makes of it when it is asked without Prisma. */
interface PrismaErrorLike {
  readonly code?: unknown
  readonly meta?: {
    /** Prisma 6 without a driver adapter. */
    readonly code?: unknown
    readonly driverAdapterError?: { readonly cause?: AdapterError }
  }
  readonly cause?: AdapterError
}

interface AdapterError {
  readonly kind?: unknown
  readonly originalCode?: unknown
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

/** SQLSTATEs that say the connection ended or the server stopped, but not what became of the statement. */
const UNKNOWN_OUTCOME = /^(08...|40003|57P0.)$/
/** The servers of MySQL and MariaDB do not use these numbers: there the driver speaks of its socket or its pool. */
const MARIADB_CLIENT_ERROR = /^(-\d+|2\d{3}|45\d{3})$/

/** libsql gives SQLite's result codes as numbers: https://www.sqlite.org/rescode.html */
const SQLITE_NAMES: Readonly<Record<string, string>> = {
  '5': 'SQLITE_BUSY',
  '261': 'SQLITE_BUSY_RECOVERY',
  '517': 'SQLITE_BUSY_SNAPSHOT',
  '6': 'SQLITE_LOCKED',
  '262': 'SQLITE_LOCKED_SHAREDCACHE',
  '1555': 'SQLITE_CONSTRAINT_PRIMARYKEY',
  '2067': 'SQLITE_CONSTRAINT_UNIQUE',
}

/**
 * The server's code for an error that Prisma passed on, as text.
 *
 * @returns `undefined` when the error is not an answer of the server, such as P2024 and P2028 (no connection in time)
 */
export function nativeCode(error: unknown): string | undefined {
  const { code, meta, cause } = error as PrismaErrorLike
  const answer = meta?.driverAdapterError?.cause ?? (typeof cause === 'object' ? cause : undefined)
  if (answer) return adapterCode(answer)
  if (typeof code === 'string' && code in CONFLICTS) return code
  return typeof meta?.code === 'string' ? serverCode(meta.code) : undefined
}

function adapterCode({ kind, originalCode, code }: AdapterError): string | undefined {
  if (kind === 'mssql') return String(code)
  const conflict = CONFLICT_OF_KIND[String(kind)]
  // mssql's name for all that the server answers; of its numbers the adapter leaves only the kind.
  if (originalCode === 'EREQUEST') return conflict ?? String(kind)
  return typeof originalCode === 'string' ? serverCode(originalCode) : conflict
}

function serverCode(code: string): string | undefined {
  // libsql's 2067 first: it looks like one of the MariaDB driver's own.
  const sqliteName = SQLITE_NAMES[code]
  if (sqliteName !== undefined) return sqliteName
  return UNKNOWN_OUTCOME.test(code) || MARIADB_CLIENT_ERROR.test(code) ? undefined : code
}
