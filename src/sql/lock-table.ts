import { Deadline, type LockError } from '../core/internal'
import { callDatabase, type Attempt, type Database, type DatabaseCall } from './calls'
import { databaseError, IN_TRANSACTION, unchangedError, unfitError } from './database-errors'
import { LostRace } from './failures'
import { stateOf, type ClientState } from './client-state'
import type { Dialect } from './dialect'
import { valuesOf, type TableSql } from './names'
import { DriverError, type SqlClient, type SqlRow } from './session'
import { render, type LockValues } from './sql'
import { lockStatements, type LockStatements } from './statements'

/** After so many writes without effect, something in the database prevents them. */
const MOST_WITHOUT_EFFECT = 4

/** Which privileges a user needs. */
const LOCK =
  'grant this user select, insert and update on the lock table; npx shedlock-orm doctor prints the SQL.'
const CREATE =
  'grant this user the right to create tables there, or let another one create this table, with what npx shedlock-orm sql prints.'

/** A table that is asked about. */
export interface Inspected {
  readonly attempt: Attempt
  readonly dialect: Dialect
  readonly table: TableSql
}

/** A table as it was found. */
export interface FoundTable {
  /** The table in its schema; `undefined` if it is missing. */
  readonly sql?: TableSql | undefined
  /** Why the lock cannot be kept in this table. */
  readonly problem?: LockError | undefined
}

/**
 * Finds the table, and compares its columns with what the lock needs. Handed in: locking does not depend on the rest of `sql/table`.
 *
 * @param cause of the problem
 */
export type FindTable = (inspected: Inspected, cause: unknown) => Promise<FoundTable>

/**
 * One lock table in its database: finds it, sends its statements, and checks that it has the right columns. A session may have
 * another search path or another current database than the one before, so the table is found once, and every statement then names
 * its schema.
 */
export class LockTable implements Database {
  readonly shared: ClientState
  /** `found`: its schema is known; `right`: it has the right columns, too. */
  #known: 'nothing' | 'found' | 'right'
  /** The check that is under way. */
  #checking: Promise<LockError | undefined> | undefined
  /** The table where it was found. */
  sql: TableSql
  tableKey: string
  /** Those of the table where it was found. Read them within a call. */
  statements: LockStatements

  /**
   * @param named the table as the options name it
   * @param timeLimit for one call, in milliseconds
   * @param ownConnections how many connections the client may open for locks
   */
  constructor(
    readonly client: SqlClient,
    readonly dialect: Dialect,
    private readonly named: TableSql,
    private readonly find: FindTable,
    readonly timeLimit: number,
    readonly ownConnections: number,
  ) {
    this.shared = stateOf(client)
    this.#known = this.#unchecked
    this.sql = named
    this.tableKey = render(named.table)
    this.statements = lockStatements(dialect, named)
  }

  /** Unless a schema is named, or the database has no current one, the session decides which table the name means. */
  get #unchecked() {
    const { describe, schema } = this.dialect.table
    return this.named.schema === undefined && describe && schema ? 'nothing' : 'found'
  }

  /**
   * Sends a request, and repeats it within the time limit. Finds the table before the first one, and checks it before the first
   * acquisition, because with a wrong column type two callers could hold one lock.
   *
   * @param needs what must be known about the table: an acquisition needs a `right` one, and what describes it itself `nothing`
   * @throws LockError `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`, or why the client is `unusable`
   */
  async call<T>(call: DatabaseCall<T>, needs: 'nothing' | 'found' | 'right' = 'found'): Promise<T> {
    const { lockName, leaseLeft = Infinity } = call
    const deadline = new Deadline(Math.min(this.timeLimit, leaseLeft))
    try {
      if (this.#known !== 'right' && this.#known !== needs && needs !== 'nothing') {
        const problem = await this.#checkOnce(deadline, lockName)
        if (problem && needs === 'right') throw problem
      }
      return await callDatabase(this, call, deadline)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code !== undefined && error.code === this.dialect.inTransactionError)
        throw unfitError(IN_TRANSACTION, lockName, error.cause)
      const isDenied = this.dialect.table.denied.includes(error.code ?? '')
      if (needs === 'nothing') throw databaseError(error, call, isDenied ? CREATE : '')
      // The table may be the cause of the server's error, so check it again.
      this.#known = this.#unchecked
      const problem = await this.#check(deadline, lockName, error.cause).catch(() => undefined)
      if (problem) throw problem
      throw databaseError(error, call, isDenied ? LOCK : '')
    }
  }

  /**
   * Waits for a check that is under way, because the first calls of many locks would otherwise send one each. If that has found a
   * problem, or had no answer, checks the table itself, so that the error names its own lock.
   */
  async #checkOnce(deadline: Deadline, lockName: string | undefined): Promise<LockError | undefined> {
    if (this.#checking && !(await this.#checking.catch(() => true))) return undefined
    const checking = this.#check(deadline, lockName)
    this.#checking = checking
    try {
      return await checking
    } finally {
      if (this.#checking === checking) this.#checking = undefined
    }
  }

  /** Finds the table, and checks it. @returns why the lock cannot be kept in this table */
  #check(deadline: Deadline, lockName: string | undefined, cause?: unknown): Promise<LockError | undefined> {
    const attempt = (current: Attempt) => this.#find(current, cause)
    return callDatabase(this, { lockName, isRepeatable: () => true, attempt }, deadline)
  }

  async #find(attempt: Attempt, cause: unknown): Promise<LockError | undefined> {
    const before = this.sql
    const inspected = { attempt, dialect: this.dialect, table: before }
    const { sql = this.named, problem } = await this.find(inspected, cause)
    // Another call was faster, and its session found another table.
    if (this.sql !== before && this.sql.schema !== sql.schema) return this.#find(attempt, cause)
    if (this.sql.schema !== sql.schema) {
      this.sql = sql
      this.tableKey = render(sql.table)
      this.statements = lockStatements(this.dialect, sql)
    }
    this.#known = problem ? this.#unchecked : 'right'
    return problem
  }

  async isLockedByOthers(attempt: Attempt): Promise<boolean> {
    const { lockedByOthers } = this.dialect.table
    return (
      lockedByOthers !== undefined && (await attempt.query(lockedByOthers, valuesOf(this.sql))).length > 0
    )
  }

  /**
   * Says why an update changed nothing, although its row is as it should be: another session has locked the row, perhaps for a moment, so
   * the update is repeated; or, after some repeats, something in the database prevents it.
   *
   * @param writes counts those of the caller without effect
   */
  async whyUnchanged(
    attempt: Attempt,
    name: string,
    writes: { withoutEffect: number },
  ): Promise<LostRace | LockError> {
    const { rowIfUnlocked } = this.statements
    const isLocked = (await attempt.query(rowIfUnlocked, { name })).length === 0
    return isLocked || ++writes.withoutEffect < MOST_WITHOUT_EFFECT ? new LostRace() : unchangedError(name)
  }

  /** Reads rows. Errors name the lock, if the values contain its name. */
  read(which: 'list' | 'find', values: LockValues = {}): Promise<readonly SqlRow[]> {
    const attempt = (current: Attempt) => current.query(this.statements[which], values)
    return this.call({ lockName: values.name, isRepeatable: () => true, attempt })
  }
}
