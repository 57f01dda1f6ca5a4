import { fileURLToPath } from 'node:url'
import { adapterFor, connect, type TestClient } from '../test/prisma/adapters'

/** The schemes of URLs, and what the tests call their databases. */
const BACKENDS: Readonly<Record<string, string>> = {
  'file:': 'sqlite',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mariadb',
}

/** Creates a client for the database at this URL. The demo uses the clients generated for the tests. */
export function connectPrisma(url: string): Promise<TestClient> {
  const scheme = new URL(url).protocol
  const backend = BACKENDS[scheme]
  if (backend === undefined) throw new Error(`--db takes a postgres:, mysql: or mariadb: URL, not ${scheme}`)
  return connect(adapterFor(backend), scheme === 'file:' ? `file:${fileURLToPath(url)}` : url)
}
