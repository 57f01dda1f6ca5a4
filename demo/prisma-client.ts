import { fileURLToPath } from 'node:url'
import { ADAPTERS, connect, type TestClient } from '../test/prisma/adapters'

/** The parts of a URL, as Prisma's adapters name them. */
const BACKENDS: Readonly<Record<string, { readonly backend: string; readonly adapter: string }>> = {
  'file:': { backend: 'sqlite', adapter: 'better-sqlite3' },
  'postgres:': { backend: 'postgres', adapter: 'pg' },
  'postgresql:': { backend: 'postgres', adapter: 'pg' },
  'mysql:': { backend: 'mysql', adapter: 'mariadb' },
  'mariadb:': { backend: 'mariadb', adapter: 'mariadb' },
}

/** Creates a client for the database at this URL. The demo uses the clients generated for the tests. */
export function connectPrisma(url: string): Promise<TestClient> {
  const scheme = new URL(url).protocol
  const found = BACKENDS[scheme]
  const adapter = ADAPTERS.find(({ name, backend }) => name === found?.adapter && backend === found.backend)
  if (!adapter) throw new Error(`--db takes a postgres:, mysql: or mariadb: URL, not ${scheme}`)
  return connect(adapter, scheme === 'file:' ? `file:${fileURLToPath(url)}` : url)
}
