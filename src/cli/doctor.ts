import { styleText } from 'node:util'
import type { Command } from 'commander'
import { printable } from '../core/internal'
import {
  describePlace,
  foreignClock,
  isHeldForEver,
  raw,
  whyStuck,
  sql,
  type Attempt,
  type Dialect,
  type SqlLockProvider,
  type SqlRow,
} from '../sql/internal'
import { ExitCode } from './command-error'
import { onDatabase, type Connection } from './connect'
import { labelled } from './layout'
import { commandOn, print, printJson } from './output'

/** The worst first, each with its colour. */
const SEVERITIES = { error: 'red', warning: 'yellow', note: 'cyan', ok: 'green' } as const
type Severity = keyof typeof SEVERITIES
type Diagnosis = ReturnType<typeof found>

/** If clocks differ by more than this, two hosts may both run a job for the same tick when `lockAtLeastFor` is short. */
const CLOCK_TOLERANCE = 1_000

/** Checks for anything that could make locks fail, be slow, or be acquired twice. Changes nothing. */
async function diagnose(connection: Connection): Promise<Diagnosis[]> {
  const place = describePlace(await connection.provider.table.place())
  const table = await connection.provider.table.check()
  const isMissing = table.some(({ code }) => code === 'TABLE_MISSING')
  const why = connection.isGuess
    ? ' – the DataSource has no shedLockEntity(…) of that table, which may name another one: add it, or set --schema and --table-name'
    : ''
  const findings = [
    isMissing ? found('place', `looked for ${place}${why}`, 'note') : found('place', place),
    found('connection', `by ${connection.by}, through ${connection.through}`),
  ]
  findings.push(...table.map(({ severity, message, fix }) => found('table', message, severity, fix)))
  if (table.length === 0)
    findings.push(found('table', 'columns, types, key, collation, times and privileges are right'))
  const { tz = 'of the system' } = process.versions
  findings.push(
    found('time zones', `Node.js has the data ${tz} – with other data, an instance may compute other slots`),
  )
  findings.push(...(await stuckLocks(connection.provider)))
  const { dialect, attempt } = connection.provider.table.session()
  if (dialect.untried) {
    const message = `the tests have never run on a real ${dialect.name} server: its SQL follows the vendor's documentation`
    findings.push(found('dialect', message, 'note'))
  }
  try {
    findings.push(await clock(dialect, attempt))
    findings.push(...(await settings(dialect, attempt)))
  } finally {
    await attempt.giveBack()
  }
  return findings
}

/** Finds locks that are held although no run needs them. Wrong times are findings of the table itself. */
async function stuckLocks({ table }: SqlLockProvider): Promise<Diagnosis[]> {
  // What is wrong with the table was found before.
  const locks = await table.list().catch(() => [])
  return locks.flatMap((lock) => {
    const why = whyStuck(lock)
    if (why === undefined || isHeldForEver(lock) || foreignClock(lock) > 0) return []
    const advice = `release it, if its job does not run: ${commandOn('release', lock.name)}`
    return [found('jobs', `Lock '${lock.name}' is stuck: ${why} – ${advice}`, 'warning')]
  })
}

async function clock(dialect: Dialect, session: Attempt): Promise<Diagnosis> {
  const now = sql`select ${dialect.epochMilliseconds(dialect.now)} as now ${dialect.from ?? raw('')}`
  // Not timed, because the first query may wait for a connection.
  await session.query(now)
  const sent = Date.now()
  const [row] = await session.query(now)
  const answered = Date.now()
  const difference = Math.round(Number(lastColumn(row)) - (sent + answered) / 2)
  const uncertainty = Math.ceil((answered - sent) / 2)
  const differ = `the clocks of this host and of the database differ by ${difference} ms (± ${uncertainty})`
  if (Math.abs(difference) <= CLOCK_TOLERANCE + uncertainty) return found('clock', differ)
  const advice =
    "Locks use only the database's clock, but schedulers fire by the clocks of their hosts – synchronise them (NTP), or make lockAtLeastFor longer than the difference."
  return found('clock', `${differ}. ${advice}`, 'warning')
}

async function settings({ table, from = raw('') }: Dialect, session: Attempt): Promise<Diagnosis[]> {
  const { settings: known = [], grantee = raw('null') } = table
  const user = lastColumn((await session.query(sql`select ${grantee} as grantee ${from}`))[0])
  const findings: Diagnosis[] = []
  for (const { name, read, wrong, severity, message, fix } of known) {
    const [row] = await session.query(read)
    // Not every server has this setting.
    if (!row) continue
    const value = String(lastColumn(row))
    const fixes = fix ? [fix(typeof user === 'string' ? user : 'the_user')] : []
    const shown = value.toLowerCase()
    if (!wrong.test(value)) findings.push(found(name, shown))
    else findings.push(found(name, `is ${shown}: ${message}`, severity, fixes))
  }
  return findings
}

/** @param fix SQL that fixes the problem */
function found(check: string, message: string, severity: Severity = 'ok', fix: readonly string[] = []) {
  return { check, severity, message, fix }
}

function lastColumn(row: SqlRow | undefined): unknown {
  return Object.values(row ?? {}).at(-1)
}

export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .summary('find what is wrong with the table or the connection, and what to do about it')
    .description(
      'Checks the table (columns, types, lengths, key, case of names), the privileges of this user, the clocks of this host and of the database, and settings of the database that affect locks. Changes nothing: it says what a column must be, and prints SQL for the rest. Stop the jobs before you change the table. Exit status 1 if there is an error, so that it can stop a deploy.',
    )
  onDatabase(doctor, ['strict', 'json'], async (connection, { strict, json }) => {
    const findings = await diagnose(connection)
    if (json) printJson(findings)
    else print(report(findings))
    const bad = findings.some(({ severity }) => severity === 'error' || (strict && severity === 'warning'))
    process.exitCode = bad ? ExitCode.no : ExitCode.ok
  })
}

/** Formats the table's place, then the findings, worst first. */
function report([place, ...findings]: readonly Diagnosis[]): string {
  const order = Object.keys(SEVERITIES)
  const sorted = findings.sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity))
  const lines = [...(place ? [place] : []), ...sorted].map(
    ({ severity, check, message, fix }) =>
      [
        styleText(SEVERITIES[severity], severity),
        `${check}: ${printable(message)}${fix.map((statement) => `\n${statement};`.replace(/\n/g, '\n  ')).join('')}`,
      ] as const,
  )
  const count = (severity: 'error' | 'warning'): string => {
    const number = findings.filter((finding) => finding.severity === severity).length
    const text = `${number} ${severity}${number === 1 ? '' : 's'}`
    return number === 0 ? text : styleText(SEVERITIES[severity], text)
  }
  return `${labelled(lines)}\n\n${count('error')}, ${count('warning')}`
}
