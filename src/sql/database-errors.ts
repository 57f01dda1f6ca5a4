import { clientError, LockError } from '../core/internal'
import { DriverError, type SqlRow } from './session'

// What a failed call says: the errors that callers see.

/** Creates the error for a result without the number of changed rows. */
export function uncountedError(lockName: string | undefined): LockError {
  return clientError(
    'This client does not report how many rows a statement changed, so it would be unknown whether a lock was acquired – use a client or a driver that does, and no trigger that returns rows.',
    lockName,
  )
}

/** @throws LockError `INVALID_CLIENT` if the client renames the columns of results, as plugins for camel case do */
export function checkColumn(column: string, rows: readonly SqlRow[]): void {
  if (rows[0] && !(column in rows[0]))
    throw clientError(
      `This client renames the columns of a result: '${column}' is missing – pass a client without plugins that do.`,
    )
}

/** The key of `UNFIT` for a session with a clock of its own. */
export const MOVED_CLOCK = 2
/** The key of `UNFIT` for a connection with an open transaction. */
export const IN_TRANSACTION = 3

/** What an app may have set in a session, so that a lock would not be kept, by the value of the column `unfit`; 0 if nothing. */
export const UNFIT: Readonly<Record<number, string>> = {
  1: 'Autocommit is off, so no other session would see the lock – switch autocommit on for this user or pool.',
  [MOVED_CLOCK]:
    'This session has a clock of its own, which is not that of other sessions, so two callers could hold one lock – let the app run set timestamp = default before it gives a connection back to its pool.',
  [IN_TRANSACTION]:
    'This connection has an open transaction, whose rollback would undo the lock – let the app commit or roll back before it gives a connection back to its pool.',
}

/** Creates the error for a session that is unfit for a lock. */
export function unfitError(why: number, lockName?: string, cause?: unknown): LockError {
  return new LockError('INVALID_CLIENT', UNFIT[why] ?? `The session is unfit for a lock (${why}).`, {
    lockName,
    cause,
  })
}

/** Creates the error for a write that changed no row, although it should have. */
export function unchangedError(lockName: string | undefined): LockError {
  return new LockError(
    'DATABASE_ERROR',
    'The database changed no row for this lock, although the row is there and the lock is still held. Something prevents it: for example a policy for row-level security, a rule, a trigger, or a session with autocommit off – find it with npx shedlock-orm doctor, and let this user update all rows of the lock table.',
    { lockName },
  )
}

/** What a call was about, and how long it might take, for its error. */
export interface CallLimits {
  readonly lockName?: string | undefined
  /** In milliseconds. */
  readonly timeLimit: number
  /** What was left of the lease, in milliseconds. */
  readonly leaseLeft?: number | undefined
}

/** What keeps the row of a lock from being released after its task. */
const OPEN_GUARD =
  'a transaction with a guard of this lock is still open (end it inside the task, for example by putting @Transactional below @SchedulerLock)'
const NO_ANSWER = `check whether the connection pool is exhausted (a lock needs a connection of its own besides those of open transactions), connections cannot be opened or have fallen silent (limit both: connectTimeoutMS of TypeORM, connectionTimeoutMillis and query_timeout of pg, socketTimeout of mariadb), the client cannot log in (mariadb on MySQL without TLS: allowPublicKeyRetrieval), the table is locked, by a migration for example, ${OPEN_GUARD}, the database is blocked, or it is waiting for a synchronous standby that is down.`
const LEASE_IS_OVER = 'no more was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

function within({ timeLimit, leaseLeft = Infinity }: CallLimits): string {
  return `within ${Math.round(Math.min(timeLimit, leaseLeft))} ms`
}

/** Creates the error for a call without an answer. */
export function noAnswerError(cause: unknown, limits: CallLimits): LockError {
  const { lockName, timeLimit, leaseLeft = Infinity } = limits
  const endedWithLease = leaseLeft < timeLimit && !(cause instanceof DriverError)
  return new LockError(
    'TIMEOUT',
    `The database did not answer a request for ${subject(lockName)} ${within(limits)} – ${endedWithLease ? LEASE_IS_OVER : NO_ANSWER}`,
    { lockName, cause },
  )
}

/** Returns whether a statement was not sent because the pool had no free connection in time. */
export function isPoolTimeout(error: unknown): boolean {
  const { message } = driverErrorOf(error)
  // A pool that could not connect says why, such as ECONNREFUSED.
  return /timeout|timed out|no connections available|P2024/i.test(message) && !/\bE[A-Z]{5,}\b/.test(message)
}

/** Reads from a server's message why a write is not certain to be committed: see `commits` of PostgreSQL. */
const suspicionIn = (message: string): string | undefined =>
  /"(open transaction, or [^"]*)"/.exec(message)?.[1]
const BUSY_ADVICE = `check whether its table is locked, another transaction has locked its row, ${OPEN_GUARD}, or too many connections are open.`
export const SUSPICION_ADVICE =
  'let the app end its transactions, and make such a trigger fire after the statement.'

/** Creates the error for a call in whose way something was until its time was over. */
export function busyError(error: unknown, limits: CallLimits): LockError {
  const { lockName } = limits
  const { message, cause } = driverErrorOf(error)
  const suspicion = suspicionIn(message)
  return new LockError(
    'TIMEOUT',
    `The database was too busy to serve ${subject(lockName)} ${within(limits)}: ${suspicion ?? message} – ${suspicion === undefined ? BUSY_ADVICE : `${SUSPICION_ADVICE} See npx shedlock-orm doctor.`}`,
    { lockName, cause },
  )
}

/** Creates the error for a call that got no turn. @param cause says how many others waited */
export function crowdedError(cause: unknown, limits: CallLimits): LockError {
  const { lockName } = limits
  return new LockError(
    'TIMEOUT',
    `The request for ${subject(lockName)} was not sent ${within(limits)}: ${driverErrorOf(cause).message} – let fewer locks be due at the same time, or make timeLimit longer. If there are few, check whether the table is locked, by a migration for example, or the database is slow, or its connections are silent.`,
    { lockName, cause },
  )
}

export const READ_ONLY_ADVICE =
  'if it is a standby or a former primary, make the pool connect to the primary; otherwise look for a setting that forbids writes (default_transaction_read_only, read_only), which some hosts switch on when the disk is full.'

/** Creates the error for a server that accepts no writes. */
export function readOnlyError(error: unknown, { lockName }: CallLimits): LockError {
  const { code, message, cause } = driverErrorOf(error)
  return new LockError(
    'DATABASE_ERROR',
    `This database server does not accept writes, so it cannot serve ${subject(lockName)}: ${message} (error ${code}) – ${READ_ONLY_ADVICE}`,
    { lockName, cause },
  )
}

/**
 * Creates the error for anything else that the server or the connection reported.
 *
 * @param privileges which ones to grant, if the user of this connection lacks one
 */
export function databaseError(
  error: unknown,
  { lockName }: Pick<CallLimits, 'lockName'>,
  privileges = '',
): LockError {
  const { code, message, sent, cause } = driverErrorOf(error)
  const statement = `a statement for ${subject(lockName)}`
  const what = !sent
    ? `The connection to the database failed, before ${statement} was sent`
    : code === undefined
      ? `The client ended ${statement} without an answer of the database`
      : `The database answered ${statement} with error ${code}`
  const advice = privileges && ` – ${privileges}`
  return new LockError('DATABASE_ERROR', `${what}: ${message}${advice}`, { lockName, cause })
}

export function driverErrorOf(error: unknown): DriverError {
  return error instanceof DriverError ? error : new DriverError(undefined, error)
}

function subject(lockName: string | undefined): string {
  return lockName === undefined ? 'the lock table' : `lock '${lockName}'`
}
