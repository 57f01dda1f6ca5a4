import { time, type LockError } from '../core/internal'
import { callDatabase, EndedSessions, limitOf, type Attempt, type Database, type DatabaseCall } from './calls'
import { databaseError, withName } from './database-errors'
import type { Dialect } from './dialect'
import { DriverError, type SqlClient, type SqlRow } from './session'
import { raw, type Sql, type SqlValues } from './sql'
import { lockStatements, type LockStatements } from './statements'
import { hasColumns, tableProblem } from './table-check'
import { tableDefinition } from './table-definition'
import type { TableSql } from './table-names'

/** If more schemas than this have such a table, do not suggest any. */
const SCHEMAS_AT_MOST = 3

/** One lock table in its database: sends its statements, checks that it exists with the right columns, and creates it. */
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
      // The table may be the cause of the server's error, so check it again.
      this.#isRight = false
      const problem = await check(error.cause).catch(() => undefined)
      throw problem ? withName(problem, lockName) : databaseError(error, lockName)
    }
  }

  /** Reads rows. Errors name the lock, if the values contain its name. */
  read(statement: Sql, values: SqlValues = {}): Promise<readonly SqlRow[]> {
    const attempt = (current: Attempt) => current.query(statement, values)
    return this.call({ lockName: values.name, idempotent: true, attempt })
  }

  /** Creates the table unless it exists. Any number of sessions may do this at the same time, and each succeeds. */
  async create(): Promise<void> {
    const before = await this.call({ attempt: (attempt) => this.#problem({ attempt, searches: false }) })
    if (!before) return
    if (before.code !== 'TABLE_MISSING') throw before
    try {
      for (const statement of tableDefinition(this.dialect, this.sql.names).up)
        await this.call({ attempt: (attempt) => attempt.execute(raw(statement), {}, 'changed') })
    } catch (error) {
      // Another session may have created the table. If that cannot be read, report the first error.
      const again = this.call({
        attempt: (attempt) => this.#problem({ cause: error, attempt, searches: false }),
      })
      const after = await again.catch(() => 'unknown' as const)
      if (after === 'unknown' || after?.code === 'TABLE_MISSING') throw error
      if (after) throw after
    }
  }

  /** @param searches whether to find out which other schemas have such a table, if it is missing */
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

  /** Reads the columns of the table; none if there is no such table. */
  describe(attempt: Attempt, schema = this.sql.names.schema): Promise<readonly SqlRow[]> {
    const values = { schema: schema ?? null, table: this.sql.names.tableName }
    return attempt.query(this.statements.describe, values)
  }

  /** Finds the schemas that have a table of this name with these columns; none if that is unknown. */
  async otherSchemas(attempt: Attempt): Promise<string[]> {
    const { schemasOf } = this.statements
    if (!schemasOf) return []
    try {
      const schemas: string[] = []
      const rows = await attempt.query(schemasOf, { table: this.sql.names.tableName })
      // With this many schemas, each tenant probably has one, and another tenant's table is the wrong one.
      if (rows.length > SCHEMAS_AT_MOST) return []
      for (const row of rows) {
        const schema = String(row['table_schema'])
        if (hasColumns(this.sql, await this.describe(attempt, schema))) schemas.push(schema)
      }
      return schemas
    } catch {
      // The search only helps to explain an error, so its own errors do not matter.
      return []
    }
  }
}
