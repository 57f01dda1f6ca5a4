import { unescape } from 'node:querystring'
import { LockError } from '../core/internal'

/** Documented in `--help` and in docs/cli.md. */
export const ExitCode = {
  ok: 0,
  /** A negative result: the doctor found an error, there is no such lock, or the lock was not released. */
  no: 1,
  /** A wrong argument, option, name or file. */
  usage: 2,
  /** No driver, no connection, the database refused, or the output could not be written. */
  database: 3,
  /** `exec`: the lock is held, so the command was skipped. EX_TEMPFAIL of sysexits.h: not an error, try again later. */
  skipped: 75,
  /** `exec`: the lock was lost while the command ran, so the command was stopped. */
  lockLost: 76,
} as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** Ends the command with a one-line message and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError'

  constructor(
    readonly exitCode: ExitCode,
    message: string,
  ) {
    super(message)
  }
}

/** Reports a negative result. */
export function refusal(message: string): CommandError {
  return new CommandError(ExitCode.no, message)
}

/** Reports a mistake in the command as typed. */
export function wrongUsage(message: string): CommandError {
  return new CommandError(ExitCode.usage, message)
}

export function databaseFailure(message: string): CommandError {
  return new CommandError(ExitCode.database, message)
}

/** What PostgreSQL, MySQL, MariaDB and their poolers answer when the server or this user has no room for another connection. */
const NO_ROOM =
  /too many (clients|connections)|connection slots|no more connections|max_user_connections|has exceeded the '/i

/**
 * The same error as a lock's, because the database may still be starting.
 *
 * @param isFile whether the database is a file of SQLite, which has no server
 */
export function notConnected(why: string, isFile: boolean): LockError {
  const advice = isFile
    ? 'check whether the path is that of a database, and whether this user may open it'
    : /\b(ssl|tls)\b|certificate|secure connection/i.test(why)
      ? 'check which TLS the server has, and which the parameters of the URL or the DataSource ask for'
      : NO_ROOM.test(why)
        ? 'close other connections or make pools smaller, or raise the limit, then try again'
        : 'check whether the server runs, and its address, user, password and database'
  return new LockError('DATABASE_ERROR', `The connection to the database failed: ${why} – ${advice}.`)
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode
  const isWrong = error instanceof LockError && error.code.startsWith('INVALID_')
  return isWrong ? ExitCode.usage : ExitCode.database
}

/** Hiding shorter secrets would garble ordinary words, and drivers do not print passwords anyway. */
const SHORTEST = 4
const secrets = new Set<string>()

/** Hides this string in all further output. */
export function hide(secret: unknown): void {
  if (typeof secret !== 'string' || secret.length < SHORTEST) return
  secrets.add(secret)
  secrets.add(encodeURIComponent(secret))
}

/**
 * Hides the password of a URL: `scheme://user:password@host`, `…;password=…`, `…?password=…`. Also hides each piece of it, because
 * another parser may end it at a character that should have been escaped.
 */
export function hideUrl(url: string): void {
  const credentials = /:\/\/[^/@:]*:(.*)@/.exec(url)?.[1] ?? ''
  const parameters = [...url.matchAll(/[;?&](?:password|pwd)=(\{[^}]*\}|[^;&]*)/gi)].map(
    ([, value]) => value ?? '',
  )
  const passwords = [credentials, ...parameters]
  const pieces = passwords.flatMap((password) => password.split(/[@:/?#;{}]/))
  for (const secret of [...passwords, ...pieces]) {
    hide(secret)
    hide(unescape(secret))
  }
}

export function scrub(text: string): string {
  let scrubbed = text
    .replace(/:\/\/[^/@:\s]*:\S*@/g, '://***@')
    .replace(/\b(password|pwd)=[^;&\s]+/gi, '$1=***')
  for (const secret of [...secrets].sort((one, other) => other.length - one.length)) {
    scrubbed = scrubbed.replaceAll(secret, '***')
  }
  return scrubbed
}
