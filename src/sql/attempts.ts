import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../core'
import type { Dialect } from './dialect'
import { DriverError } from './sql-executor'
import { TimeLimitError, withTimeLimit } from './time-limit'

/**
 * `conflict`: a lost race, nothing was changed. `busy`: not now. `unanswered`: nobody knows what became of it. `refused`:
 * every other answer of the server.
 */
export type ErrorKind = 'conflict' | 'busy' | 'unanswered' | 'refused'

/** Waits for work as long as a step has left, and then throws a `TimeLimitError`. */
export type Within = <T>(work: Promise<T>) => Promise<T>

const LONGEST_PAUSE = 100

/** Repeats what is worth repeating within the time limit, and says of the rest what happened and what to do. */
export class Attempts {
  constructor(
    private readonly dialect: Dialect,
    private readonly timeLimit: number,
    /** A better word for an error that the server answered, if there is one. */
    private readonly explainRefusal: (error: unknown) => Promise<LockError | undefined>,
  ) {}

  kindOf(error: unknown): ErrorKind {
    const code = error instanceof DriverError ? error.code : undefined
    if (code === undefined) return 'unanswered'
    if (code in this.dialect.errors.conflict) return 'conflict'
    return code in this.dialect.errors.busy ? 'busy' : 'refused'
  }

  /**
   * Repeats the operation while it fails with these kinds of errors and time is left. Throws nothing but `LockError`.
   *
   * @param operation waits for the database by `within`
   */
  async repeat<T>(
    kinds: readonly ErrorKind[],
    lockName: string | undefined,
    operation: (within: Within) => Promise<T>,
  ): Promise<T> {
    const deadline = performance.now() + this.timeLimit
    const within: Within = (work) => withTimeLimit(Math.max(1, deadline - performance.now()), work)
    for (let pause = 2; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await operation(within)
      } catch (error) {
        if (error instanceof LockError) throw error
        if (
          error instanceof TimeLimitError ||
          !kinds.includes(this.kindOf(error)) ||
          performance.now() + pause >= deadline
        ) {
          throw await this.#explain(error, lockName)
        }
      }
      await sleep(pause * (0.5 + Math.random() / 2))
    }
  }

  async #explain(error: unknown, lockName: string | undefined): Promise<LockError> {
    const which = lockName === undefined ? 'the lock table' : `lock '${lockName}'`
    const kind = this.kindOf(error)
    if (error instanceof TimeLimitError || kind === 'busy') {
      return new LockError(
        'TIMEOUT',
        `No answer about ${which} within ${this.timeLimit} ms – is the connection pool exhausted (a lock needs a connection beside those of open transactions), or the database blocked?`,
        { lockName, cause: error },
      )
    }
    const refusal = kind === 'refused' ? await this.explainRefusal(error) : undefined
    if (refusal) return refusal
    const { code, message, cause } = error instanceof DriverError ? error : new DriverError(undefined, error)
    const what =
      code === undefined
        ? 'The connection to the database failed'
        : `The database answered with error ${code}`
    return new LockError('DATABASE_ERROR', `${what} about ${which}: ${message}`, { lockName, cause })
  }
}
