import { time } from '../core/internal'
import { callDatabase, EndedSessions, limitOf, type Attempt, type Database, type DatabaseCall } from './calls'
import { databaseError, withName } from './database-errors'
import type { Dialect } from './dialect'
import { DriverError, type SqlClient, type SqlRow } from './session'
import type { LockValues, Sql } from './sql'
import { lockStatements, type LockStatements } from './statements'
import { tableProblem } from './table/check'
import type { TableSql } from './table/names'

/** One lock table in its database: sends its statements, and checks that it exists with the right columns. */
export class LockTable implements Database {
  readonly statements: LockStatements
  readonly ended = new EndedSessions()
  #isRight = false

  /** @param timeLimit for one call, in milliseconds */
  constructor(
    readonly client: SqlClient,
    readonly dialect: Dialect,
    readonly sql: TableSql,
    readonly timeLimit: number,
  ) {
    this.statements = lockStatements(dialect, sql)
  }

  /**
   * Sends a request, and repeats it within the time limit. Checks the table before the first acquisition, because with a wrong
   * column type two callers could hold one lock.
   *
   * @param isAcquisition whether to check the table first, unless a check has already succeeded
   * @throws LockError `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`, or why the client is `unusable`
   */
  async call<T>(call: DatabaseCall<T>, isAcquisition = false): Promise<T> {
    const { lockName } = call
    const deadline = time.now() + limitOf(this, call)
    const check = (cause?: unknown) =>
      callDatabase(
        this,
        { lockName, attempt: (attempt) => tableProblem(attempt, this.dialect, this.sql, cause) },
        deadline,
      )
    try {
      if (isAcquisition && !this.#isRight) {
        const problem = await check()
        if (problem) throw withName(problem, lockName)
        this.#isRight = true
      }
      return await callDatabase(this, call, deadline)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      // The table may be the cause of the server's error, so check it again.
      this.#isRight = false
      const problem = await check(error.cause).catch(() => undefined)
      throw problem ? withName(problem, lockName) : databaseError(error, lockName)
    }
  }

  /** Reads rows. Errors name the lock, if the values contain its name. */
  read(statement: Sql, values: LockValues = {}): Promise<readonly SqlRow[]> {
    const attempt = (current: Attempt) => current.query(statement, values)
    return this.call({ lockName: values.name, idempotent: true, attempt })
  }
}
