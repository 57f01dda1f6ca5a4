import { LockError, time } from '../core'
import { driverErrorOf, errorKind, type ErrorKind } from './error-kind'
import type { Dialect } from './dialect'

/** `late`: no answer in time. `in vain`: the answer came, but is not the expected one. */
export type Outcome = ErrorKind | 'late' | 'in vain'

/** One request to the database. */
export interface Question<T> {
  /** The lock that it is about, for the message of an error. */
  readonly lockName?: string | undefined
  /** Asks once. With more than one statement it looks at `wanted` before the next: perhaps nobody waits for the answer any longer. */
  attempt(wanted: () => boolean): Promise<T>
  /** The outcomes after which it is retried. */
  readonly again: readonly Outcome[]
  /** How long it may take in all, in milliseconds. */
  readonly within: number
  /** It has no more time because its lease is over then. */
  readonly endsWithLease?: boolean
  /** How long one attempt may take, of the milliseconds that are left. Default: all of them. */
  readonly each?: ((left: number) => number) | undefined
  /** Is told when nobody waits for an attempt any longer, or when it broke off: it may still change something. */
  late?(): void
  /** Retries with long pauses, and keeps no process alive. */
  readonly background?: boolean
}

const PAUSES = { first: 2, longest: 100 }
const BACKGROUND_PAUSES = { first: 100, longest: 30_000 }
/** A shorter attempt is of no use. */
const SHORTEST_ATTEMPT = 200

const NO_ANSWER =
  'is the connection pool exhausted (a lock needs a connection beside those of open transactions), or the database blocked?'
const LEASE_IS_OVER =
  'that was all that was left of its lease. Extend it earlier, or make lockAtMostFor longer.'

/** Each attempt takes half of what is left: one that got lost leaves time for others, on other connections. */
export function half(left: number): number {
  return Math.max(left / 2, SHORTEST_ATTEMPT)
}

/** Thrown by an attempt whose answer is not the expected one. */
export class InVain extends Error {
  override readonly name = 'InVain'
}

class Late extends Error {
  override readonly name = 'Late'
}

/** The one way in which the lock asks the database: repeats, time limits, late answers and the words of errors. */
export class Asking {
  constructor(
    private readonly dialect: Dialect,
    /** Turns an error that the server answered into a more specific one, if it can. */
    private readonly explainRefusal: (error: unknown) => Promise<LockError | undefined>,
  ) {}

  /** Asks until there is an answer, an error after which it is not asked again, or no time left. Throws only `LockError`. */
  async ask<T>(question: Question<T>): Promise<T> {
    const { again, within, each = (left: number) => left, background = false } = question
    const { first, longest } = background ? BACKGROUND_PAUSES : PAUSES
    const deadline = time.now() + within
    for (let pause = first; ; pause = Math.min(pause * 2, longest)) {
      const left = deadline - time.now()
      let wanted = true
      try {
        return await inTime(
          question.attempt(() => wanted),
          Math.max(1, Math.min(left, each(left))),
        )
      } catch (error) {
        wanted = false
        question.late?.()
        if (error instanceof LockError) throw about(question.lockName, error)
        if (!again.includes(this.#outcome(error)) || time.now() + pause >= deadline)
          throw await this.#explain(error, question, deadline)
      }
      await new Promise<void>((resolve) => time.after(time.jittered(pause), resolve, !background))
    }
  }

  #outcome(error: unknown): Outcome {
    if (error instanceof Late) return 'late'
    return error instanceof InVain ? 'in vain' : errorKind(this.dialect, error)
  }

  async #explain(
    error: unknown,
    { lockName, within, endsWithLease = false }: Question<unknown>,
    deadline: number,
  ): Promise<LockError> {
    const which = lockName === undefined ? 'the lock table' : `lock '${lockName}'`
    const outcome = this.#outcome(error)
    if (outcome === 'late' || outcome === 'busy' || outcome === 'in vain') {
      return new LockError(
        'TIMEOUT',
        `No answer about ${which} within ${Math.round(within)} ms – ${endsWithLease ? LEASE_IS_OVER : NO_ANSWER}`,
        { lockName, cause: error },
      )
    }
    if (outcome === 'refused') {
      const left = deadline - time.now()
      const explained = await inTime(this.explainRefusal(error), Math.max(1, left)).catch(() => undefined)
      if (explained) return about(lockName, explained)
    }
    const { code, message, cause } = driverErrorOf(error)
    const what =
      code === undefined
        ? 'The connection to the database failed'
        : `The database answered with error ${code}`
    return new LockError('DATABASE_ERROR', `${what} about ${which}: ${message}`, { lockName, cause })
  }
}

/** The same error, with the name of the lock. */
function about(lockName: string | undefined, error: LockError): LockError {
  if (lockName === undefined || error.lockName !== undefined) return error
  return new LockError(error.code, error.message, { lockName, cause: error.cause })
}

/** Waits for work, but not longer than these milliseconds; the work itself goes on. */
async function inTime<T>(work: Promise<T>, limit: number): Promise<T> {
  let cancel: (() => void) | undefined
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      reject(new Late(`no answer within ${Math.round(limit)} ms`))
    }
    cancel = time.after(limit, giveUp, true)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel?.()
  }
}
