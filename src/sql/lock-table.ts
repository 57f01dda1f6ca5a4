import { time, type LockError } from '../core/internal'
import {
  Abandonments,
  callDatabase,
  changedRows,
  databaseError,
  limitOf,
  withName,
  type Database,
  type DatabaseCall,
} from './calls'
import type { Dialect } from './dialect'
import { raw, type Sql, type SqlValues } from './sql'
import { DriverError, type Attempt, type SqlExecutor, type SqlRow } from './sql-executor'
import { lockStatements, type LockStatements } from './statements'
import { hasColumns, tableProblem } from './table-check'
import { tableDefinition } from './table-definition'
import type { TableSql } from './table-names'

/** More schemas than these are not suggested. */
const SCHEMAS_AT_MOST = 3

/** One lock table in its database: sends its statements, finds out whether it exists and has the right shape, and creates it. */
export class LockTable implements Database {
  readonly statements: LockStatements
  readonly abandonments = new Abandonments()
  #isRight = false

  /** @param timeLimit of one call, in milliseconds */
  constructor(
    readonly executor: SqlExecutor,
    readonly dialect: Dialect,
    readonly sql: TableSql,
    readonly timeLimit: number,
  ) {
    this.statements = lockStatements(dialect, sql)
  }

  /**
   * Sends a request, and repeats it within the time limit. With a wrong type two could hold one lock, so before the first
   * acquisition the table is checked.
   *
   * @param isAcquisition whether the table is checked before, until one check has succeeded
   * @throws LockError `TABLE_MISSING`, `TABLE_MISMATCH`, `TIMEOUT`, `DATABASE_ERROR`, or what the client says of itself
   */
  async call<T>(call: DatabaseCall<T>, isAcquisition = false): Promise<T> {
    const { lockName } = call
    const deadline = time.now() + limitOf(this, call)
    const check = (cause?: unknown) =>
      callDatabase(this, { lockName, attempt: (attempt) => this.#problem({ cause, attempt }) }, deadline)
    try {
      if (isAcquisition && !this.#isRight) {
        const problem = await check()
        if (problem) throw withName(problem, lockName)
        this.#isRight = true
      }
      return await callDatabase(this, call, deadline)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      // An error that the server answered may have a more specific reason: the table.
      this.#isRight = false
      const problem = await check(error.cause).catch(() => undefined)
      throw problem ? withName(problem, lockName) : databaseError(error, lockName)
    }
  }

  /** The rows that a statement reads: of one lock, if the values have its name. */
  read(statement: Sql, values: SqlValues = {}): Promise<readonly SqlRow[]> {
    const attempt = (current: Attempt) => this.executor.query(statement, values, current)
    return this.call({ lockName: values.name, idempotent: true, attempt })
  }

  /** Sends a write once. @returns how many rows it changed */
  async changes(statement: Sql, values: SqlValues, attempt?: Attempt): Promise<number> {
    if (!this.dialect.counted) return changedRows(await this.executor.execute(statement, values, attempt))
    const [row] = await this.executor.query(statement, values, attempt)
    return changedRows(row?.['changed'] ?? NaN)
  }

  /** Creates the table unless it exists. However many sessions do it at the same time, each succeeds. */
  async create(): Promise<void> {
    const before = await this.call({ attempt: (attempt) => this.#problem({ attempt, searches: false }) })
    if (!before) return
    if (before.code !== 'TABLE_MISSING') throw before
    try {
      for (const statement of tableDefinition(this.dialect, this.sql.names).up)
        await this.call({ attempt: (attempt) => this.executor.execute(raw(statement), {}, attempt) })
    } catch (error) {
      // Another session may have been faster. Where that cannot be read, the first error is the one to report.
      const again = this.call({
        attempt: (attempt) => this.#problem({ cause: error, attempt, searches: false }),
      })
      const after = await again.catch(() => 'unknown' as const)
      if (after === 'unknown' || after?.code === 'TABLE_MISSING') throw error
      if (after) throw after
    }
  }

  /** @param searches whether to find out where else there is such a table, if it is missing */
  async #problem({
    cause,
    attempt,
    searches = true,
  }: {
    cause?: unknown
    attempt: Attempt
    searches?: boolean
  }): Promise<LockError | undefined> {
    const described = await this.describe(attempt)
    const elsewhere = described.length === 0 && searches ? await this.otherSchemas(attempt) : []
    return tableProblem(this.dialect, this.sql, described, cause, elsewhere)
  }

  /** The columns of the table; none if there is no such table. */
  describe(attempt?: Attempt, schema = this.sql.names.schema): Promise<readonly SqlRow[]> {
    const values = { schema: schema ?? null, table: this.sql.names.tableName }
    return this.executor.query(this.statements.describe, values, attempt)
  }

  /** The schemas that have a table of this name with these columns; none where that is not known. */
  async otherSchemas(attempt?: Attempt): Promise<string[]> {
    const { schemasOf } = this.statements
    if (!schemasOf) return []
    try {
      const schemas: string[] = []
      const rows = await this.executor.query(schemasOf, { table: this.sql.names.tableName }, attempt)
      // Where each tenant has a schema of its own, none of the others' is meant.
      if (rows.length > SCHEMAS_AT_MOST) return []
      for (const row of rows) {
        const schema = String(row['table_schema'])
        if (hasColumns(this.sql, await this.describe(attempt, schema))) schemas.push(schema)
      }
      return schemas
    } catch {
      // It only explains what is wrong already.
      return []
    }
  }
}
