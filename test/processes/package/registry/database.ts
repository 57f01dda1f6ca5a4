import { randomBytes } from 'node:crypto'
import { DataSource } from 'typeorm'
import { afterFile } from '../../../after-test'
import { findBackends } from '../../../backends/find-backends'
import { servers } from '../../../backends/servers'

/** @returns the URL of an empty database of PostgreSQL, for the tests of this file */
export async function createDatabase(): Promise<string> {
  process.env['BACKENDS'] = process.env['REQUIRE_BACKENDS'] = 'postgres'
  const { backends, stop } = await findBackends()
  afterFile(stop)
  const server = servers.find(({ name }) => name === 'postgres')
  const admin = backends.find(({ name }) => name === 'postgres')?.url
  if (!server || admin === undefined) throw new Error('PostgreSQL was not found.')
  const dataSource = await new DataSource(server.typeOrm(admin)).initialize()
  afterFile(() => dataSource.destroy())
  const name = `shedlock_test_${randomBytes(6).toString('hex')}`
  for (const statement of server.createDatabase(name)) await dataSource.query(statement)
  afterFile(async () => {
    for (const statement of server.dropDatabase(name)) await dataSource.query(statement)
  })
  return server.databaseUrl(admin, name)
}
