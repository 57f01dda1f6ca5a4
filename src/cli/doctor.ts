import { raw, spell, sql, type Dialect, type Row, type Statement } from '../sql'
import type { Connection, Session } from './connection'

export interface Diagnosis {
  readonly check: string
  readonly severity: 'ok' | 'note' | 'warning' | 'error'
  readonly message: string
  /** SQL that fixes it. */
  readonly fix: readonly string[]
}

/** Above this, hosts whose clocks follow each other fire one tick twice when `lockAtLeastFor` is short. */
const CLOCK_TOLERANCE = 1_000

/** Looks for all that could make locks fail, be slow, or be taken twice. Changes nothing. */
export async function diagnose(connection: Connection): Promise<Diagnosis[]> {
  const table = await connection.provider.checkTable()
  const findings: Diagnosis[] = table.map(({ severity, message, fix }) => ({
    check: 'table',
    severity,
    message,
    fix,
  }))
  if (table.length === 0)
    findings.push(ok('table', 'columns, types, key, case of names and privileges are right'))
  const session = await connection.openSession()
  try {
    findings.push(await clock(connection.dialect, session))
    findings.push(...(await settings(connection.dialect, session)))
    findings.push(...(await pooler(connection, session)))
  } finally {
    await session.close()
  }
  return findings
}

async function clock(dialect: Dialect, session: Session): Promise<Diagnosis> {
  const ask = text(
    sql`select ${dialect.epochMilliseconds(dialect.now)} as now ${dialect.inspection?.from ?? raw('')}`,
  )
  // The first question may wait for a connection.
  await session.query(ask)
  const sent = Date.now()
  const [row] = await session.query(ask)
  const answered = Date.now()
  const difference = Math.round(Number(lastColumn(row)) - (sent + answered) / 2)
  const uncertainty = Math.ceil((answered - sent) / 2)
  if (Math.abs(difference) <= CLOCK_TOLERANCE + uncertainty) {
    return ok('clock', `this host and the database differ by ${difference} ms (± ${uncertainty})`)
  }
  return {
    check: 'clock',
    severity: 'warning',
    message: `this host and the database differ by ${difference} ms (± ${uncertainty}) – locks use the database's clock alone, but schedulers fire by the hosts' clocks: synchronise them (NTP), or make lockAtLeastFor longer than the difference.`,
    fix: [],
  }
}

async function settings({ inspection }: Dialect, session: Session): Promise<Diagnosis[]> {
  const { settings: known = [], grantee, from } = inspection ?? {}
  const user =
    grantee &&
    lastColumn((await session.query(text(sql`select ${grantee} as grantee ${from ?? raw('')}`)))[0])
  const found: Diagnosis[] = []
  for (const { name, ask, wrong, severity, message, fix } of known) {
    const value = String(lastColumn((await session.query(text(ask)))[0]))
    if (!wrong.test(value)) found.push(ok(name, value.toLowerCase()))
    else
      found.push({
        check: name,
        severity,
        message: `is ${value.toLowerCase()}: ${message}`,
        fix: [fix(typeof user === 'string' ? user : 'the_user')],
      })
  }
  return found
}

/** Two connections at one time have two sessions of the server, unless a pooler lends one session to both in turn. */
async function pooler(connection: Connection, session: Session): Promise<Diagnosis[]> {
  const { session: id, from } = connection.dialect.inspection ?? {}
  if (!id) return []
  const ask = text(sql`select ${id} as id ${from ?? raw('')}`)
  const other = await connection.openSession()
  try {
    const [one] = await session.query(ask)
    const [two] = await other.query(ask)
    if (lastColumn(one) !== lastColumn(two))
      return [ok('pooler', 'each connection has its own session of the server')]
  } finally {
    await other.close()
  }
  return [
    {
      check: 'pooler',
      severity: 'note',
      message:
        'a pooler in transaction mode is in between. Locks work with it, because each step is one statement; settings of a session (set …) are not kept.',
      fix: [],
    },
  ]
}

function ok(check: string, message: string): Diagnosis {
  return { check, severity: 'ok', message, fix: [] }
}

function text(statement: Statement): string {
  return spell(statement, () => '?').text
}

function lastColumn(row: Row | undefined): unknown {
  return Object.values(row ?? {}).at(-1)
}
