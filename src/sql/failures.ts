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

/** Everything that can go wrong with an attempt. */
export type FailureKind =
  | 'conflict'
  | 'read-only'
  | 'unprepared'
  | 'no-connection'
  | 'no-room'
  | 'pool-exhausted'
  | 'crowded'
  | 'unanswered'
  | 'given-up'
  | 'unreplicated'
  | 'joined'
  | 'refused'

/** What is done about a failure. */
export interface Handling {
  /** What happened, for the documentation. */
  readonly when: string
  /** Whether the call is repeated. `if harmless`: the statement may have been executed, so only if that makes no difference. */
  readonly repeat: 'always' | 'if harmless' | 'never'
  /** How long to wait before that. `short`: the obstacle is usually gone at once. `growing`: three times, and then more and more rarely. */
  readonly interval: 'short' | 'growing'
  /** What becomes of the session. `none`: there is none. `end sparingly`: each end makes the app's pool open another one, so only as many as `SessionPool` allows. */
  readonly session: 'none' | 'release' | 'end' | 'end sparingly' | 'leave'
  /** Whether it explains why the call failed, even if a later attempt was only cut short by the time limit. */
  readonly explains: boolean
  /** Whether the server has answered. If not, the client may be unusable, and knows that. */
  readonly isAnswer: boolean
  /** Creates the error for the caller. */
  readonly error: (cause: unknown, limits: CallLimits) => unknown
}

/**
 * What the library does about everything that can go wrong. A page of the documentation shows this table.
 *
 * An acquisition that was given up, or got no answer, may still have acquired the row: its debt is settled in the background. See
 * debts.ts.
 */
export const FAILURES: Readonly<Record<FailureKind, Handling>> = {
  conflict: {
    when: 'another session was faster, or has locked the row or the table',
    repeat: 'always',
    interval: 'short',
    session: 'release',
    explains: true,
    isAnswer: true,
    error: busyError,
  },
  'read-only': {
    when: 'the server accepts no writes',
    repeat: 'always',
    interval: 'growing',
    session: 'leave',
    explains: true,
    isAnswer: true,
    error: readOnlyError,
  },
  unprepared: {
    when: 'the statement could not be prepared',
    repeat: 'always',
    interval: 'growing',
    session: 'end',
    explains: false,
    isAnswer: true,
    error: busyError,
  },
  'no-connection': {
    when: 'no connection could be opened, so nothing was sent',
    repeat: 'always',
    interval: 'growing',
    session: 'none',
    explains: true,
    isAnswer: false,
    error: databaseError,
  },
  'no-room': {
    when: 'the server has no room for another connection',
    repeat: 'always',
    interval: 'growing',
    session: 'none',
    explains: true,
    isAnswer: false,
    error: busyError,
  },
  'pool-exhausted': {
    when: 'the pool had no free connection in time, so nothing was sent',
    repeat: 'always',
    interval: 'growing',
    session: 'none',
    explains: true,
    isAnswer: false,
    error: noAnswerError,
  },
  crowded: {
    when: 'calls of other locks of this process came first until the time limit, so nothing was sent',
    repeat: 'never',
    interval: 'short',
    session: 'none',
    explains: false,
    isAnswer: true,
    error: crowdedError,
  },
  unanswered: {
    when: 'the connection broke, or the client threw an error of its own, so the outcome is unknown',
    repeat: 'if harmless',
    interval: 'growing',
    session: 'end sparingly',
    explains: false,
    isAnswer: false,
    error: databaseError,
  },
  'given-up': {
    when: 'no answer arrived within the time limit, so the outcome is unknown',
    repeat: 'if harmless',
    interval: 'growing',
    session: 'end sparingly',
    explains: false,
    isAnswer: false,
    error: noAnswerError,
  },
  unreplicated: {
    when: 'the write was committed, but a failover may lose it',
    repeat: 'if harmless',
    interval: 'growing',
    session: 'release',
    explains: false,
    isAnswer: false,
    error: databaseError,
  },
  joined: {
    when: 'the app gave the connection back with an open transaction, which the write joined',
    repeat: 'always',
    interval: 'growing',
    session: 'end',
    explains: true,
    isAnswer: true,
    error: (cause, { lockName }) => unfitError(IN_TRANSACTION, lockName, cause),
  },
  // The table may be the cause, so the caller of the call looks at it first: see lock-table.ts.
  refused: {
    when: 'the server answered with any other error, or no connection can ever be opened',
    repeat: 'never',
    interval: 'short',
    session: 'release',
    explains: true,
    isAnswer: true,
    error: (cause) => cause,
  },
}

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
