import Sqlite from 'better-sqlite3'
import { drivers, sqlClient } from '../src/drivers/internal'
import {
  dialects,
  sql,
  SqlLockProvider,
  tableDefinition,
  type Dialect,
  type SqlRow,
} from '../src/sql/internal'
import type { World } from '../verification/simulation/world'

/** SQLite's own dialect, with the clock of the simulation. */
const dialect: Dialect = { ...dialects.sqlite, now: sql`simulated_now()` }

/** Opens an in-memory SQLite on virtual time. Each call of the result returns the provider of another instance. */
export function simulatedSqlite(world: World): () => SqlLockProvider {
  const database = new Sqlite(':memory:')
  database.function('simulated_now', () =>
    new Date(world.epoch + world.now).toISOString().slice(0, -1).replace('T', ' '),
  )
  database.exec(tableDefinition(dialect).create)
  const prepared = new Map<string, Sqlite.Statement>()
  const client = sqlClient(drivers.sqlite, (text, values) => {
    const statement = prepared.get(text) ?? database.prepare(text)
    prepared.set(text, statement)
    return Promise.resolve(
      statement.reader
        ? { rows: statement.all(...values) as SqlRow[] }
        : { rows: [], changed: statement.run(...values).changes },
    )
  })
  return () => new SqlLockProvider(client, dialect)
}
