import { createRequire } from 'node:module'
import { folderOf, installPackage } from './install-package'
import { address, type TestDatabase } from './server'

/** One folder for all three: they have to share one copy of PGlite. */
const PACKAGES = {
  '@electric-sql/pglite': '0.5.14',
  '@electric-sql/pglite-socket': '0.2.17',
  'pglite-prisma-adapter': '0.7.2',
}

interface Pglite {
  close(): Promise<void>
}
interface SocketServer {
  start(): Promise<void>
  stop(): Promise<void>
  getServerConn(): string
}

const running = new Map<string, Pglite>()

export function installPglite(): Promise<string> {
  return installPackage('@electric-sql/pglite', PACKAGES['@electric-sql/pglite'], { together: PACKAGES })
}

/** A PGlite in memory. TypeORM reaches it through its socket server, because only `pg` reports how many rows changed. */
export async function createPglite(): Promise<TestDatabase> {
  const { PGlite } = load('@electric-sql/pglite') as { PGlite: { create(): Promise<Pglite> } }
  const { PGLiteSocketServer } = load('@electric-sql/pglite-socket') as {
    PGLiteSocketServer: new (options: object) => SocketServer
  }
  const db = await PGlite.create()
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 50 })
  await server.start()
  const url = `postgres://postgres@${server.getServerConn()}/postgres`
  running.set(url, db)
  return {
    url,
    typeOrm: { type: 'postgres', ...address(url) },
    drop: async () => {
      await server.stop()
      await db.close()
    },
  }
}

/** Prisma's adapter for the PGlite of this URL, without a socket. */
export function pgliteAdapter(url: string): unknown {
  const { PrismaPGlite } = load('pglite-prisma-adapter') as { PrismaPGlite: new (db: unknown) => unknown }
  return new PrismaPGlite(running.get(url))
}

function load(name: string): unknown {
  return createRequire(`${folderOf('@electric-sql/pglite', PACKAGES['@electric-sql/pglite'])}/package.json`)(
    name,
  )
}
