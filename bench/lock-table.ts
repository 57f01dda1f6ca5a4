import { tableDefinition } from '../src/sql/internal'
import type { BenchDatabase, RawClient } from './raw-clients'

/** Longer than any lease: how far in the future the held lock ends, and how long ago the others ended. */
const HELD = "'2099-01-01 00:00:00.000'"
const OVER = "'2000-01-01 00:00:00.000'"

/** Recreates our table, with one held lock and others whose leases are over. */
export async function makeLockTable(
  { dialect }: BenchDatabase,
  { run }: RawClient,
  table: string,
  expired: readonly string[],
): Promise<void> {
  await run(`drop table if exists ${table}`)
  for (const statement of tableDefinition(dialect, { tableName: table }).up) await run(statement)
  const rows = [`('held', ${HELD}, ${OVER}, 'bench')`].concat(
    expired.map((name) => `('${name}', ${OVER}, ${OVER}, 'bench')`),
  )
  for (let from = 0; from < rows.length; from += 500)
    await run(`insert into ${table} values ${rows.slice(from, from + 500).join()}`)
}
