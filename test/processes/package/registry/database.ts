import { afterFile } from '../../../after-test'
import { availableBackends } from '../../../backends'
import { findBackends } from '../../../backends/find-backends'

/** @returns the URL of an empty database of PostgreSQL, for the tests of this file */
export async function createDatabase(): Promise<string> {
  process.env['BACKENDS'] = process.env['REQUIRE_BACKENDS'] = 'postgres'
  const { backends, stop } = await findBackends()
  afterFile(stop)
  process.env['FOUND_BACKENDS'] = JSON.stringify(backends)
  const [postgres] = availableBackends()
  if (!postgres) throw new Error('PostgreSQL was not found.')
  const database = await postgres.create()
  afterFile(() => database.drop())
  return database.url
}
