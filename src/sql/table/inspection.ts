import { LAST_TIME, NEVER_ACQUIRED, SLOT_AT_MOST_AHEAD } from '../../core/internal'
import { columns } from '../expressions'
import { raw, render, sql, type Sql } from '../sql'
import { READ_ONLY_ADVICE, SUSPICION_ADVICE } from '../database-errors'
import { DriverError, type SqlRow } from '../session'
import { foundIn, type TableSql, title } from '../names'
import { isHeldForEver, lockRecords, type LockRecord } from '../records'
import { readRows } from '../statements'
import type { Inspected } from '../lock-table'
import {
  describeTable,
  finding,
  mustBe,
  obstacles,
  tableFindings,
  worstFirst,
  type TableFinding,
} from './check'

/**
 * Inspects the table: its columns and key, whether its names differ by case, its times, and what this user may do. Changes nothing.
 *
 * @throws DriverError if the database does not answer
 */
export async function inspectTable(named: Inspected): Promise<TableFinding[]> {
  const { dialect } = named
  let described: readonly SqlRow[] = []
  const what = dialect.table.describe ? 'to describe' : 'select on'
  const refused = await refusal(named, what, async () => {
    described = await describeTable(named)
  })
  if (refused.length > 0) return refused
  // What comes after names the schema in which the table was found, because the session may find another one.
  const table = foundIn(dialect, named.table, described[0]?.['table_schema'])
  const inspected = { ...named, table }
  const found = tableFindings(dialect, table, described)
  if (found.some(({ code }) => code === 'TABLE_MISSING' || code === 'COLUMN_MISSING')) return found
  const others = [
    (await obstacles(inspected).catch(answered)) ?? [],
    await privileges(inspected),
    await invalidTimes(inspected),
    await lockedInFuture(inspected),
    await caseFindings(inspected),
  ]
  return [...found, ...others.flat()].sort(worstFirst)
}

/** Tests the privileges with statements that touch no row. */
async function privileges(inspected: Inspected): Promise<TableFinding[]> {
  const { attempt, dialect, table } = inspected
  const { lockUntil, lockedAt, lockedBy } = table
  const select = sql`select ${columns(table)} from ${table.table} where 1 = 0`
  // Also evaluates the condition of each write, which may fail.
  const nothing = dialect.commits
    ? sql`where ${table.name} = '' and not (${dialect.commits})`
    : sql`where 1 = 0`
  const insert = sql`insert into ${table.table} (${columns(table)}) select ${columns(table)} from ${table.table} ${nothing}`
  const update = sql`update ${table.table} set ${lockUntil} = ${lockUntil}, ${lockedAt} = ${lockedAt}, ${lockedBy} = ${lockedBy} ${nothing}`
  return [
    ...(await refusal(inspected, 'select on', () => attempt.query(select))),
    ...(await refusal(inspected, 'insert on', () => attempt.execute(insert, {}, 'changed'))),
    ...(await refusal(inspected, 'update on', () => attempt.execute(update, {}, 'changed'))),
    ...(await unwritableFile(inspected)),
  ]
}

async function unwritableFile({ attempt, dialect, table }: Inspected): Promise<TableFinding[]> {
  const { fileAccess } = dialect.table
  if (!fileAccess) return []
  const error: unknown = await attempt
    .execute(fileAccess.write(table), {}, 'changed')
    .catch((failure: unknown) => failure)
  if (!(error instanceof DriverError) || !fileAccess.refused.test(error.message)) return []
  const refused = `The database refuses to write table '${title(table.names)}': ${error.message}`
  return [finding('REFUSED', 'error', `${refused} – ${fileAccess.advice}`)]
}

async function refusal(
  inspected: Inspected,
  what: 'to describe' | 'select on' | 'insert on' | 'update on',
  ask: () => Promise<unknown>,
): Promise<TableFinding[]> {
  const { dialect, table } = inspected
  try {
    await ask()
    return []
  } catch (error) {
    if (!(error instanceof DriverError) || error.code === undefined) throw error
    // Something is in the way for a moment, so the check is repeated.
    if (error.code in dialect.transientErrors) throw error
    const refused = `The database refuses ${what} table '${title(table.names)}': ${error.message}`
    if (!dialect.table.denied.includes(error.code)) {
      const advice =
        error.code in dialect.readOnlyErrors
          ? READ_ONLY_ADVICE
          : dialect.suspectedTransaction?.test(`${error.code} ${error.message}`)
            ? SUSPICION_ADVICE
            : 'check whether the client connects to the right database, and what was added to the table.'
      return [finding('REFUSED', 'error', `${refused} – ${advice}`)]
    }
    const grantee = (await answer(inspected, dialect.table.grantee)) ?? 'the_user'
    const grant =
      what === 'to describe'
        ? `grant usage on schema ${dialect.quote(table.names.schema ?? '')} to ${grantee}`
        : `grant select, insert, update on ${render(table.table)} to ${grantee}`
    const message = `${refused} – grant this user select, insert and update.`
    return [finding('PRIVILEGE_MISSING', 'error', message, [grant])]
  }
}

/** Breaks the lines of SQL that people read. */
const LINE = raw('\n  ')

/** Finds rows with a value that is not a time. Their locks are held or free depending on how SQL compares it. */
async function invalidTimes(inspected: Inspected): Promise<TableFinding[]> {
  const { dialect, table } = inspected
  const until = dialect.epochMilliseconds(table.lockUntil)
  const at = dialect.epochMilliseconds(table.lockedAt)
  const wrongUntil = sql`coalesce(${until}, -1) not between 0 and ${raw(String(LAST_TIME - 1))}`
  const wrongAt = sql`coalesce(${at}, -1) < 0`
  const rows = await rowsWhere(inspected, sql`${wrongUntil} or ${wrongAt} order by ${table.name}`)
  if (rows.length === 0) return []
  const { lockUntil, lockedAt } = table.names.columnNames
  const past = dialect.plus(dialect.epoch, raw(String(NEVER_ACQUIRED)))
  const fix = [
    setTime(table, table.lockUntil, past, wrongUntil),
    setTime(table, table.lockedAt, past, wrongAt),
  ]
  const forEver = rows.filter(isHeldForEver)
  if (forEver.length > 0) {
    const message = `${which(forEver)} is held for ever: '${lockUntil}' has a time that never comes, or null – set it to a past time while the job does not run. To keep a job from running, pause it.`
    return [finding('TIME_INVALID', 'error', message, fix)]
  }
  const message = `${which(rows)} has a value in '${lockUntil}' or '${lockedAt}' that is not a time since 1970 – set it to a past time, in UTC.`
  return [finding('TIME_INVALID', 'warning', message, fix)]
}

/** Finds times that lie further ahead of the clock than a slot may, because another clock or another time zone wrote them. */
async function lockedInFuture(inspected: Inspected): Promise<TableFinding[]> {
  const { dialect, table } = inspected
  const { lockedAt } = table
  // One condition for the finding and for its SQL, so that the SQL fixes what was found, and nothing else.
  const wrong = sql`${lockedAt} > ${dialect.plus(dialect.now, raw(String(SLOT_AT_MOST_AHEAD)))}`
  const rows = await rowsWhere(inspected, sql`${wrong} order by ${lockedAt} desc`)
  const [first] = rows
  if (!first) return []
  const message = `${which(rows)}, last acquired by '${first.lockedBy}', has a time in '${table.names.columnNames.lockedAt}' that lies in the future, ${first.lockedAt.toISOString()}, while the database's clock says ${first.now.toISOString()}: two callers could hold the lock, and no slot before that time runs – look for a writer that uses the clock of its host (Java's ShedLock without usingDbTime()), for sessions in different time zones, or for a clock that was set back. When you have corrected that, set the time to now.`
  return [finding('LOCKED_IN_FUTURE', 'error', message, [setTime(table, lockedAt, dialect.now, wrong)])]
}

/** Returns the SQL that corrects wrong times. It ends no lease of a holder, because it changes only wrong times. */
function setTime(table: TableSql, column: Sql, time: Sql, condition: Sql): string {
  return render(sql`update ${table.table}${LINE}set ${column} = ${time}${LINE}where ${condition}`)
}

/** Compares two names under the collation of the column, without a row. */
async function caseFindings({ attempt, dialect, table }: Inspected): Promise<TableFinding[]> {
  const sameJob = sql`
    select probe.job from (
      select ${table.name} as job from ${table.table} where 1 = 0 union all select 'Job' ${dialect.from ?? raw('')}) probe
    where probe.job = 'job'`
  const rows = await attempt.query(sameJob).catch(answered)
  if (!rows?.length) return []
  const message = `Column '${table.names.columnNames.name}' treats 'Job' and 'job' as one lock – give it a case-sensitive collation: ${mustBe(dialect, 'name')}.`
  // This never lets two callers hold one lock, but jobs may exclude each other, as in most tables created for Java services on
  // MySQL.
  return [finding('CASE_IGNORED', 'warning', message)]
}

async function rowsWhere({ attempt, dialect, table }: Inspected, condition: Sql) {
  const rows = await attempt.query(readRows(dialect, table, sql`where ${condition}`)).catch(answered)
  return lockRecords(rows ?? [])
}

/** Reads one value as a string; `undefined` if it is not available. */
async function answer({ attempt, dialect }: Inspected, value: Sql | undefined) {
  if (!value) return undefined
  const question = sql`select ${value} as answer ${dialect.from ?? raw('')}`
  const rows = await attempt.query(question).catch(answered)
  const [text] = Object.values(rows?.[0] ?? {})
  return typeof text === 'string' ? text : undefined
}

/** Ignores an error that the server returned, because it only leaves one question open. Any other error ends the inspection. */
function answered(error: unknown): undefined {
  if (!(error instanceof DriverError) || error.code === undefined) throw error
}

/** Names the locks as the subject of a sentence. */
function which(rows: readonly LockRecord[]): string {
  return `Lock '${rows[0]?.name ?? ''}'${rows.length > 1 ? ` (and ${rows.length - 1} more)` : ''}`
}
