import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../project'
import { address, type Server } from './server'
import { connects } from './wait-for-port'

/** What a server says of itself. */
export interface ServerFacts {
  readonly version: string
  /** Whether its time zone tables are loaded, where it has some. */
  readonly knowsNamedZones: boolean
}

interface RememberedFacts extends ServerFacts {
  /** Milliseconds since 1970. */
  readonly at: number
}

const MEMORY = join(root, 'node_modules/.cache/servers.json')
const HOUR = 3_600_000

/**
 * Asks a server for its version, and rejects if it is another product. An answer is remembered for an hour, as long as something
 * listens at the URL, because a client takes longer to load than most files of tests to run. Remove `node_modules/.cache/servers.json`
 * to ask again.
 */
export async function factsOf(server: Server, url: string): Promise<ServerFacts> {
  const key = `${server.name} ${url}`
  const known = readMemory()[key]
  if (known && known.at > Date.now() - HOUR && server.prepare === undefined) {
    const { host, port } = address(url)
    if (port !== undefined) {
      await connects(port, host)
      return known
    }
  }
  await server.prepare?.(url)
  const facts = { version: await versionOf(server, url), knowsNamedZones: await knowsNamedZones(server, url) }
  // Read again, because other servers were asked meanwhile.
  writeMemory({ ...readMemory(), [key]: { ...facts, at: Date.now() } })
  return facts
}

function readMemory(): Readonly<Record<string, RememberedFacts>> {
  try {
    return JSON.parse(readFileSync(MEMORY, 'utf8')) as Record<string, RememberedFacts>
  } catch {
    // There is none yet, or another run is writing it.
    return {}
  }
}

function writeMemory(memory: Readonly<Record<string, RememberedFacts>>): void {
  mkdirSync(dirname(MEMORY), { recursive: true })
  writeFileSync(MEMORY, JSON.stringify(memory, undefined, 2))
}

async function versionOf(server: Server, url: string): Promise<string> {
  const { version = '' } = await ask<{ version: string }>(server, url, server.versionQuery)
  if (!server.product.test(version)) throw new Error(`${new URL(url).host} is ${version}`)
  return /\d+(\.\d+)+/.exec(version)?.[0] ?? version
}

async function knowsNamedZones(server: Server, url: string): Promise<boolean> {
  if (server.dialect !== 'mysql' && server.dialect !== 'mariadb') return false
  const query = `select convert_tz('2024-01-01', 'UTC', 'Europe/Prague') is not null as known`
  // MySQL's number comes as text, and '0' is not true.
  return Number((await ask<{ known: unknown }>(server, url, query)).known) === 1
}

async function ask<Row>(server: Server, url: string, query: string): Promise<Partial<Row>> {
  const { DataSource } = await import('typeorm')
  const dataSource = await new DataSource(server.typeOrm(url)).initialize()
  try {
    const [row] = await dataSource.query<Row[]>(query)
    return row ?? {}
  } finally {
    await dataSource.destroy()
  }
}
