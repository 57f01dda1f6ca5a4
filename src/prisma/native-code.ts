import { isNameRefused, mssqlCode, mysqlCode, postgresCode, sqliteName } from '../drivers'

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
  return typeof meta?.code === 'string' ? serverCode(meta.code) : undefined
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

function adapterCode({ kind, originalCode, code }: AdapterError): string | undefined {
  if (kind === 'mssql') return mssqlCode(String(code))
  const conflict = CONFLICT_OF_KIND[String(kind)]
  // mssql's name for all that the server answers; of its numbers the adapter leaves only the kind.
  if (originalCode === 'EREQUEST') return conflict ?? String(kind)
  if (typeof originalCode === 'string') return serverCode(originalCode)
  return conflict ?? (ANSWERS.includes(kind) ? String(kind) : undefined)
}

function serverCode(code: string): string | undefined {
  // libsql's 2067 first: it looks like one of the MariaDB driver's own.
  const name = sqliteName(code)
  if (name !== undefined) return name
  return postgresCode(code) && mysqlCode(code)
}
