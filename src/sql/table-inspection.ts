import type { Dialect } from './dialect'
import { describeTable } from './lock-statements'
import type { LockTable } from './lock-table'
import { fixOnce } from './fix-once'
import { DriverError, type SqlExecutor } from './sql-executor'
import { raw, sql, type Statement } from './statement'
import { tableFindings } from './table-check'
import type { TableFinding } from './table-finding'
import { TableFixes } from './table-fixes'

/**
 * Looks the table over: its columns and key, whether its names differ by case, and what this user may do. Changes nothing.
 *
 * @throws DriverError when the database does not answer
 */
export async function inspectTable(
  executor: SqlExecutor,
  dialect: Dialect,
  table: LockTable,
): Promise<TableFinding[]> {
  return new TableInspection(executor, dialect, table).findings()
}

/**
 * Above this, in milliseconds, a row was written by another clock or in another time zone. Below it, it may be a slot that an
 * instance with a fast clock took.
 */
const CLOCK_TOLERANCE = '3300000'

class TableInspection {
  readonly #fixes: TableFixes
  #columns: TableFinding[] = []

  constructor(
    private readonly executor: SqlExecutor,
    private readonly dialect: Dialect,
    private readonly table: LockTable,
  ) {
    this.#fixes = new TableFixes(dialect, table)
  }

  async findings(): Promise<TableFinding[]> {
    const found = await this.#allFindings()
    return fixOnce(found.sort((one, other) => one.severity.localeCompare(other.severity)))
  }

  async #allFindings(): Promise<TableFinding[]> {
    const { schema, table } = this.table.names
    const describe = describeTable(this.dialect, this.table)
    const values = { schema: schema ?? null, table }
    const zone = await this.#answer(this.dialect.inspection?.timeZone?.ask)
    const refused = await this.#refusal('describe the table', async () => {
      const described = await this.executor.query(describe, values)
      this.#columns = tableFindings(this.dialect, this.table, described, zone)
    })
    if (refused) return [refused]
    if (this.#columns.some(({ code }) => code === 'TABLE_MISSING' || code === 'COLUMN_MISSING'))
      return this.#columns
    return [
      ...this.#columns,
      ...(await this.#privileges()),
      ...(await this.#lockedInFuture()),
      ...(await this.#caseIgnored()),
    ]
  }

  /** Statements that touch no row: a name is never empty. */
  async #privileges(): Promise<TableFinding[]> {
    const { table, name, lockUntil, lockedAt, lockedBy } = this.table
    const columns = sql`${name}, ${lockUntil}, ${lockedAt}, ${lockedBy}`
    const nothing = sql`where ${name} = ''`
    const select = sql`select ${columns} from ${table} ${nothing}`
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      select: () => this.executor.query(select, {}),
      insert: () => this.executor.execute(sql`insert into ${table} (${columns}) ${select}`, {}),
      update: () =>
        this.executor.execute(
          sql`update ${table} set ${lockUntil} = ${lockUntil}, ${lockedAt} = ${lockedAt}, ${lockedBy} = ${lockedBy} ${nothing}`,
          {},
        ),
    }
    const findings = []
    for (const [what, step] of Object.entries(steps)) findings.push(await this.#refusal(what, step))
    return findings.filter((finding) => finding !== undefined)
  }

  /** Nobody acquires a lock later than now: a row that says so comes from another clock or time zone. */
  async #lockedInFuture(): Promise<TableFinding[]> {
    const { table, name, lockedAt, names } = this.table
    const late = this.dialect.plus(this.dialect.now, raw(CLOCK_TOLERANCE))
    const ask = sql`select ${name} as job from ${table} where ${lockedAt} > ${late} order by ${name}`
    const rows = await this.executor.query(ask, {}).catch(answered)
    if (!rows?.length) return []
    const [job] = Object.values(rows[0] ?? {})
    return [
      {
        code: 'LOCKED_IN_FUTURE',
        severity: 'error',
        message: `${rows.length === 1 ? 'Lock' : `${rows.length} locks, the first of them`} '${String(job)}' has a time in '${names.columns.lockedAt}' that lies in the future, so that two could hold it – look for a writer that uses the clock of its host (Java's ShedLock without usingDbTime()), or sessions in different time zones.`,
        fix: [],
      },
    ]
  }

  /** Asks under the collation of the column, without a row. */
  async #caseIgnored(): Promise<TableFinding[]> {
    const { table, name, names } = this.table
    const probe = sql`
      select probe.job from (select ${name} as job from ${table} where 1 = 0 union all select 'Job' ${this.#oneRow}) probe
      where probe.job = 'job'`
    const rows = await this.executor.query(probe, {}).catch(answered)
    if (!rows?.length) return []
    const fix = this.#fixes.changeColumn('name', '')
    // What fixes a finding about the column's type fixes this as well.
    if (this.#columns.some((finding) => finding.fix.join() === fix.join())) return []
    return [
      {
        code: 'CASE_IGNORED',
        // Never two holders, but jobs that keep each other out: so it is with most tables of Java services on MySQL.
        severity: 'warning',
        message: `Column '${names.columns.name}' treats 'Job' and 'job' as one lock – give it a case-sensitive collation.`,
        fix,
      },
    ]
  }

  async #refusal(what: string, step: () => Promise<unknown>): Promise<TableFinding | undefined> {
    try {
      await step()
      return undefined
    } catch (error) {
      if (!(error instanceof DriverError) || error.code === undefined) throw error
      const { schema, table } = this.table.names
      const refused = `The database refuses to ${what} on '${schema === undefined ? '' : `${schema}.`}${table}': ${error.message}`
      if (!this.dialect.inspection?.denied.includes(error.code)) {
        return {
          code: 'REFUSED',
          severity: 'error',
          message: `${refused} – connect to the primary, as a user that may write.`,
          fix: [],
        }
      }
      const grantee = (await this.#answer(this.dialect.inspection.grantee)) ?? 'the_user'
      return {
        code: 'PRIVILEGE_MISSING',
        severity: 'error',
        message: `${refused} – grant this user select, insert and update.`,
        fix: what === 'describe the table' ? this.#fixes.grantSchema(grantee) : this.#fixes.grant(grantee),
      }
    }
  }

  /** One value, as text; `undefined` where it is not available. */
  async #answer(question: Statement | undefined): Promise<string | undefined> {
    if (!question) return undefined
    const rows = await this.executor
      .query(sql`select ${question} as answer ${this.#oneRow}`, {})
      .catch(answered)
    const value = Object.values(rows?.[0] ?? {})[0]
    return typeof value === 'string' ? value : undefined
  }

  get #oneRow(): Statement {
    return this.dialect.inspection?.from ?? raw('')
  }
}

/** An answer that is an error leaves a question open; no answer ends the inspection. */
function answered(error: unknown): undefined {
  if (!(error instanceof DriverError) || error.code === undefined) throw error
}
