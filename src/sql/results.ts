import { clientError, quoted, type LockError } from '../core/internal'

// The columns of results, and how their values are read. No statement of a lock returns other values than those that are read here,
// so a client or a proxy has changed others, and they are an error that quotes them.

/** The columns that statements name, and that rows are read by. */
export const COLUMN = {
  /** 1 if the server accepts no writes. */
  readOnly: 'read_only',
  /** Why the session is unfit for a lock: a key of `UNFIT`. */
  unfit: 'unfit',
  /** Of an attempt to acquire a lock. */
  outcome: 'outcome',
  /** How many rows a write changed. */
  changed: 'changed',
  token: 'token',
  lockName: 'lock_name',
  owner: 'owner',
  lockedAt: 'locked_at',
  lockUntil: 'lock_until',
  /** 1 if `lock_until` is in the future, or no time. */
  isHeld: 'is_held',
  /** The database's clock. */
  now: 'now',
  /** Whether a transaction is open: 1 or 0; -1 if the server does not say. */
  isOpen: 'is_open',
} as const

export type Column = (typeof COLUMN)[keyof typeof COLUMN]

type Row = Readonly<Record<string, unknown>>

/** The column that contains a string as hexadecimal digits. */
export function hexOf<Name extends Column>(column: Name): `${Name}_hex` {
  return `${column}_hex`
}

/** Reads a column that was selected with `textAs`; `undefined` if the row has no string there. */
export function readText(row: Row, column: Column): string | undefined {
  const hex = row[hexOf(column)] ?? undefined
  if (hex !== undefined) {
    if (typeof hex === 'string' && /^([\da-f]{2})*$/i.test(hex)) return Buffer.from(hex, 'hex').toString()
    throw unknown(hexOf(column), hex)
  }
  const text = row[column] ?? undefined
  if (text === undefined || typeof text === 'string') return text
  throw unknown(column, text)
}

/** Reads a number, which drivers return as number, bigint, string or an object of their own; `undefined` if there is none. */
export function readNumber(row: Row, column: Column): number | undefined {
  const value = row[column] ?? undefined
  if (value === undefined) return undefined
  // A blank string would be 0.
  const number = typeof value === 'string' && value.trim() === '' ? NaN : Number(value)
  if (Number.isFinite(number)) return number
  throw unknown(column, value)
}

/** Reads a column that is 1 or 0; `undefined` if there is none. */
export function readFlag(row: Row, column: Column): boolean | undefined {
  const flag = readNumber(row, column)
  if (flag === undefined) return undefined
  if (flag === 0 || flag === 1) return flag === 1
  throw unknown(column, row[column])
}

/**
 * Reads a time, which is in milliseconds since 1970.
 *
 * @param whenNull for a column of a row, in which there may be a value that is not a time. Default: null is an error
 */
export function readTime(row: Row, column: Column, whenNull?: number): Date {
  const milliseconds = readNumber(row, column) ?? (row[column] === null ? whenNull : undefined)
  const time = new Date(milliseconds ?? NaN)
  if (!Number.isNaN(time.getTime())) return time
  throw unknown(column, row[column])
}

/** Reads a column that contains one of these words. */
export function readWord<Word extends string>(row: Row, column: Column, words: readonly Word[]): Word {
  const value = row[column]
  if ((words as readonly unknown[]).includes(value)) return value as Word
  throw unknown(column, value)
}

/** Creates the error for a value that no statement returns. */
function unknown(column: string, value: unknown): LockError {
  return clientError(
    `A result has a value that no statement of a lock returns: '${column}' is ${quoted(value)} – pass a client that leaves values as the database returns them.`,
  )
}
