import { LockError } from '../core/internal'
import {
  busyError,
  crowdedError,
  databaseError,
  driverErrorOf,
  IN_TRANSACTION,
  isPoolTimeout,
  noAnswerError,
  readOnlyError,
  unfitError,
  type CallLimits,
} from './database-errors'
import { JOINED_TRANSACTION, NOT_PREPARED, NOT_REPLICATED } from './session'

/** Server errors after which a statement is tried again because it was not executed: their native codes, with the reasons. */
export interface ErrorCodes {
  /** Another session was faster, or something is in the way, such as a lock on the table. */
  readonly transientErrors: Readonly<Record<string, string>>
  /**
   * Matches the code and the message of an error that a session with an open transaction has, but also one that waited for the table. It
   * is tried again, because only the transaction fails every further statement.
   */
  readonly suspectedTransaction?: RegExp | undefined
  /** This server accepts no writes, or no statements at all. It is the wrong server, so the session is ended. */
  readonly readOnlyErrors: Readonly<Record<string, string>>
}

/** The code for a result of a server that accepts no writes, which is not an error of the server. */
export const READ_ONLY = 'READ_ONLY'

/** What is done about a failure. */
export interface Handling {
  /** What happened, for the documentation. */
  readonly when: string
  /**
   * Whether the call is repeated. `soon`: the obstacle is usually gone at once. `later`: three times soon, and then more and more rarely. `later,
   * if repeatable`: the statement may have been executed, so only if the call `isRepeatable`.
   */
  readonly repeat: 'soon' | 'later' | 'later, if repeatable' | 'never'
  /**
   * What becomes of it. `end sparingly`: end it if `SessionPool` allows, otherwise release it. `leave its server`: end it, or else let
   * its pool drop what leads there.
   */
  readonly session: 'none' | 'release' | 'end' | 'end sparingly' | 'leave its server'
  /** Creates the error for the caller. */
  readonly error: (cause: unknown, limits: CallLimits) => unknown
}

/**
 * What the library does about everything that can go wrong. A page of the documentation shows this table.
 *
 * An acquisition that was given up, or got no answer, may still have acquired the row: its debt is settled in the background. See
 * debts.ts.
 */
export const FAILURES = {
  conflict: {
    when: 'another session was faster, or has locked the row or the table',
    repeat: 'soon',
    session: 'release',
    error: busyError,
  },
  'read-only': {
    when: 'the server accepts no writes',
    repeat: 'later',
    session: 'leave its server',
    error: readOnlyError,
  },
  unprepared: {
    when: 'the statement could not be prepared',
    repeat: 'later',
    session: 'end',
    error: busyError,
  },
  'no-connection': {
    when: 'no connection could be opened, so nothing was sent',
    repeat: 'later',
    session: 'none',
    error: databaseError,
  },
  'no-room': {
    when: 'the server has no room for another connection',
    repeat: 'later',
    session: 'none',
    error: busyError,
  },
  'pool-exhausted': {
    when: 'the pool had no free connection in time, so nothing was sent',
    repeat: 'later',
    session: 'none',
    error: noAnswerError,
  },
  crowded: {
    when: 'calls of other locks of this process came first until the time limit, so nothing was sent',
    repeat: 'never',
    session: 'none',
    error: crowdedError,
  },
  unanswered: {
    when: 'the connection broke, or the client threw an error of its own, so the outcome is unknown',
    repeat: 'later, if repeatable',
    session: 'end sparingly',
    error: databaseError,
  },
  /** `giveUp` ends its session. */
  'given-up': {
    when: 'no answer arrived within the time limit, so the outcome is unknown',
    repeat: 'later, if repeatable',
    session: 'end sparingly',
    error: noAnswerError,
  },
  unreplicated: {
    when: 'the write was committed, but a failover may lose it',
    repeat: 'later, if repeatable',
    session: 'release',
    error: databaseError,
  },
  joined: {
    when: 'the app gave the connection back with an open transaction, which the write joined',
    repeat: 'later',
    session: 'end',
    error: (cause, { lockName }) => unfitError(IN_TRANSACTION, lockName, cause),
  },
  // The table may be the cause, so `LockTable.call` looks at it, and then throws what is wrong with it, or a `DATABASE_ERROR`.
  refused: {
    when: 'the server answered with any other error, or no connection can ever be opened',
    repeat: 'never',
    session: 'release',
    error: (cause) => cause,
  },
} satisfies Readonly<Record<string, Handling>>

/** Everything that can go wrong with an attempt. */
export type FailureKind = keyof typeof FAILURES

/** Why an attempt has no value. */
export class Failure {
  /**
   * @param underWay the statement that is still under way, if its session was not ended
   * @param waited how long the server let it wait for what is in the way, in milliseconds
   */
  constructor(
    readonly kind: FailureKind,
    readonly error: unknown,
    readonly underWay?: Promise<unknown>,
    readonly waited = 0,
  ) {}
}

/** Thrown by an attempt if another session was faster, or has locked the row. */
export class LostRace extends Error {
  override readonly name = 'LostRace'

  constructor() {
    super('another session was faster, or has locked the row')
  }
}

/** Classifies what an attempt, or a statement whose attempt was given up, has thrown. */
export function failureKind(
  { transientErrors, suspectedTransaction, readOnlyErrors }: ErrorCodes,
  error: unknown,
): FailureKind {
  if (error instanceof LostRace) return 'conflict'
  // It says itself what happened.
  if (error instanceof LockError) return 'refused'
  const { code, message, sent, lasts } = driverErrorOf(error)
  if (!sent) {
    if (lasts) return 'refused'
    if (isPoolTimeout(error)) return 'pool-exhausted'
    return code !== undefined && code in transientErrors ? 'no-room' : 'no-connection'
  }
  if (code === undefined) return 'unanswered'
  if (code === NOT_REPLICATED) return 'unreplicated'
  if (code === JOINED_TRANSACTION) return 'joined'
  if (code === NOT_PREPARED) return 'unprepared'
  if (code === READ_ONLY || code in readOnlyErrors) return 'read-only'
  return code in transientErrors || suspectedTransaction?.test(`${code} ${message}`) ? 'conflict' : 'refused'
}
