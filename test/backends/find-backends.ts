import { eventually } from '../eventually'
import { installPglite } from './pglite'
import { address, type Server, type StartedServer } from './server'
import { factsOf, type ServerFacts } from './server-facts'
import { servers } from './servers'
import { installSqlite3 } from './sqlite3'
import { startContainer } from './start-container'
import { connects } from './wait-for-port'

/** What became of one backend. Plain data, because it is handed to other processes. */
export interface FoundBackend {
  readonly name: string
  readonly url?: string
  /** Where it was found, or why it is not run. */
  readonly note: string
  /** As the server reports it, such as `15.20`. */
  readonly version?: string
  /** Whether its time zone tables are loaded, where it has some. */
  readonly knowsNamedZones?: boolean
}

export const EMBEDDED = ['sqlite', 'sqlite-memory', 'sqlite3', 'sqljs', 'pglite'] as const

const NOT_NAMED = 'BACKENDS does not name it'

type Stop = () => Promise<unknown>

/** Looks for every backend: by its environment variable, on its usual local port, in a container. */
export async function findBackends(): Promise<{ backends: FoundBackend[]; stop: Stop }> {
  const wanted = names(process.env['BACKENDS'])
  const required = names(process.env['REQUIRE_BACKENDS'])
  const known = [...EMBEDDED, ...servers.map(({ name }) => name)]
  const unknown = [...wanted, ...required].filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new Error(`Unknown backends ${unknown.join(', ')} – known are ${known.join(', ')}.`)

  const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name)
  const stops: Stop[] = []
  const find = async (server: Server): Promise<FoundBackend> => {
    if (!isWanted(server.name)) return { name: server.name, note: NOT_NAMED }
    try {
      const { facts, version, ...place } = await findServer(server, stops, isAsked(server.name))
      const versions = [version, facts.version].filter(Boolean).join(', ')
      return { name: server.name, ...place, ...facts, version: versions }
    } catch (error) {
      return { name: server.name, note: error instanceof Error ? error.message : String(error) }
    }
  }
  const isAsked = (name: string): boolean => [...wanted, ...required].includes(name)
  if (isAsked('pglite')) await installPglite()
  if (isAsked('sqlite3')) await installSqlite3()
  const backends = [
    ...EMBEDDED.map((name) => {
      const why = isWanted(name) ? whyNotEmbedded(name, isAsked(name)) : NOT_NAMED
      return why === undefined ? { name, url: 'embedded', note: 'embedded' } : { name, note: why }
    }),
    ...(await Promise.all(servers.map(find))),
  ]
  const stop = (): Promise<unknown> => Promise.all(stops.map((each) => each()))
  const missing = backends.filter(({ name, url }) => url === undefined && required.includes(name))
  if (missing.length > 0) {
    await stop()
    throw new Error(
      `REQUIRE_BACKENDS: ${missing.map(({ name, note }) => `${name} was not found (${note})`).join('; ')}`,
    )
  }
  return { backends, stop }
}

/** Why an embedded database is not run. PGlite loads itself by import(). */
function whyNotEmbedded(name: (typeof EMBEDDED)[number], asked: boolean): string | undefined {
  if (name === 'sqlite3' && !asked) return 'only if BACKENDS names it'
  if (name !== 'pglite') return undefined
  if (!asked) return 'npm run test:pglite'
  const flags = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ')
  return flags.includes('--experimental-vm-modules')
    ? undefined
    : 'only under Node.js with --experimental-vm-modules'
}

function names(list = ''): string[] {
  return list.split(/[\s,]+/).filter((name) => name !== '')
}

async function findServer(
  server: Server,
  stops: Stop[],
  asked: boolean,
): Promise<Omit<StartedServer, 'stop'> & { facts: ServerFacts }> {
  const given = process.env[server.variable]
  if (given) {
    return { url: given, note: server.variable, facts: await factsOf(server, given) }
  }
  if (server.onDemand && !asked) throw new Error('only if BACKENDS names it, or its variable has a URL')
  const why = [`${server.variable} is not set`]
  const { localUrl } = server
  if (localUrl !== undefined) {
    try {
      const { host, port = 0 } = address(localUrl)
      await connects(port, host)
      return { url: localUrl, note: new URL(localUrl).host, facts: await factsOf(server, localUrl) }
    } catch (error) {
      why.push((error as Error).message)
    }
  }
  for (const start of [server.start, () => startContainer(server)]) {
    const started = await start?.()
    if (typeof started === 'object') {
      stops.push(() => started.stop())
      // A container's port is open before its database takes queries.
      const patience = { timeout: 180_000, interval: 500 }
      return { ...started, facts: await eventually(() => factsOf(server, started.url), patience) }
    }
    if (started !== undefined) why.push(started)
  }
  throw new Error(why.join('; '))
}
