import { Client } from 'pg'
import { APP, createLockTable, type HeldRow } from './cluster'

/** Does some work in a session of the superuser. */
export async function inPostgres<T>(port: number, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Runs statements as the superuser. @returns the rows of the last statement */
export function askPostgres(port: number, ...statements: string[]): Promise<Record<string, unknown>[]> {
  return inPostgres(port, async (client) => {
    let rows: Record<string, unknown>[] = []
    for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows
    return rows
  })
}

/** The statements that create the lock table and the workers' user. */
export const POSTGRES_SCHEMA: readonly string[] = [
  'create table synchronous (id serial primary key)',
  ...createLockTable('postgres'),
  `create role ${APP} login`,
  `grant select, insert, update on shedlock to ${APP}`,
]

export async function heldRowsOf(port: number): Promise<HeldRow[]> {
  const held = "select name, locked_by from shedlock where lock_until > clock_timestamp() at time zone 'UTC'"
  const rows = await askPostgres(port, held)
  return rows.map((row) => ({ name: String(row['name']), lockedBy: String(row['locked_by']) }))
}

export async function versionOfPostgres(port: number): Promise<string> {
  const [row] = await askPostgres(port, "select current_setting('server_version') as version")
  return `PostgreSQL ${String(row?.['version'])}`
}
