import type { Dialect } from './dialect'
import type { LockTable } from './lock-table'
import { TableMender } from './mend-table'
import { DriverError, type SqlExecutor } from './sql-executor'
import { parameter, raw, sql, type Statement } from './statement'
import { tableFindings } from './table-check'
import type { TableFinding } from './table-finding'

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

class TableInspection {
  readonly #mender: TableMender
  #columns: TableFinding[] = []

  constructor(
    private readonly executor: SqlExecutor,
    private readonly dialect: Dialect,
    private readonly table: LockTable,
  ) {
    this.#mender = new TableMender(dialect, table)
  }

  async findings(): Promise<TableFinding[]> {
    const { schema, table } = this.table.names
    const describe = this.dialect.describe(parameter('schema'), parameter('table'))
    const values = { schema: schema ?? null, table }
    const refused = await this.#refusal('describe the table', async () => {
      this.#columns = tableFindings(this.dialect, this.table, await this.executor.query(describe, values))
    })
    if (refused) return [refused]
    if (this.#columns.some(({ code }) => code === 'TABLE_MISSING' || code === 'COLUMN_MISSING'))
      return this.#columns
    return [...this.#columns, ...(await this.#privileges()), ...(await this.#caseIgnored())]
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

  /** Asks under the collation of the column, without a row. */
  async #caseIgnored(): Promise<TableFinding[]> {
    const { table, name, names } = this.table
    const probe = sql`
      select probe.job from (select ${name} as job from ${table} where 1 = 0 union all select 'Job' ${this.#oneRow}) probe
      where probe.job = 'job'`
    const rows = await this.executor.query(probe, {}).catch(answered)
    if (!rows?.length) return []
    const mend = this.#mender.changeColumn('name', '')
    // What mends a finding about the column's type mends this as well.
    if (this.#columns.some((finding) => finding.mend.join() === mend.join())) return []
    return [
      {
        code: 'CASE_IGNORED',
        // Never two holders, but jobs that keep each other out: so it is with most tables of Java services on MySQL.
        severity: 'warning',
        message: `Column '${names.columns.name}' does not tell 'Job' from 'job', so that they are one lock here – give it a case-sensitive collation.`,
        mend,
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
          message: `${refused} – connect to a server and as a user that may write.`,
          mend: [],
        }
      }
      const grantee = (await this.#grantee()) ?? 'the_user'
      return {
        code: 'PRIVILEGE_MISSING',
        severity: 'error',
        message: `${refused} – grant this user select, insert and update.`,
        mend: what === 'describe the table' ? this.#mender.grantSchema(grantee) : this.#mender.grant(grantee),
      }
    }
  }

  async #grantee(): Promise<string | undefined> {
    const { grantee } = this.dialect.inspection ?? {}
    if (!grantee) return undefined
    const rows = await this.executor
      .query(sql`select ${grantee} as grantee ${this.#oneRow}`, {})
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
