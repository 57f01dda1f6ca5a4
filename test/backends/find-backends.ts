import { connect } from 'node:net'
import { DataSource } from 'typeorm'
import { address, type Server } from './server'
import { servers } from './servers'
import { startContainer } from './start-container'

/** What became of one backend. Plain data, because it is handed to other processes. */
export interface FoundBackend {
  readonly name: string
  readonly url?: string
  /** Where it was found, or why it is not run. */
  readonly note: string
}

export const EMBEDDED = ['sqlite', 'sqlite-memory', 'sqljs'] as const

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
    if (!isWanted(server.name)) return { name: server.name, note: 'BACKENDS does not name it' }
    try {
      return { name: server.name, ...(await findServer(server, stops)) }
    } catch (error) {
      return { name: server.name, note: error instanceof Error ? error.message : String(error) }
    }
  }
  const backends = [
    ...EMBEDDED.map((name) =>
      isWanted(name)
        ? { name, url: 'embedded', note: 'embedded' }
        : { name, note: 'BACKENDS does not name it' },
    ),
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

function names(list = ''): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

async function findServer(server: Server, stops: Stop[]): Promise<Omit<FoundBackend, 'name'>> {
  const given = process.env[server.variable]
  if (given) {
    await checkProduct(server, given)
    return { url: given, note: server.variable }
  }
  const local = await answers(server.localUrl)
    .then(() => checkProduct(server, server.localUrl))
    .then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
  if (local === undefined) return { url: server.localUrl, note: new URL(server.localUrl).host }
  const container = await startContainer(server)
  if (typeof container === 'string') throw new Error(`${server.variable} is not set; ${local}; ${container}`)
  stops.push(() => container.stop())
  await untilReady(server, container.url)
  return { url: container.url, note: `container ${server.container.image}` }
}

function answers(url: string): Promise<void> {
  const { host, port = 0 } = address(url)
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      socket.destroy()
      reject(new Error(`${host}:${port} ${why}`))
    }
    const socket = connect({ host, port, timeout: 10_000 })
    socket.on('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.on('timeout', () => {
      fail('does not answer')
    })
    socket.on('error', ({ message }) => {
      fail(message.includes('ECONNREFUSED') ? 'refuses connections' : message)
    })
  })
}

async function checkProduct(server: Server, url: string): Promise<void> {
  const dataSource = await new DataSource(server.typeOrm(url)).initialize()
  try {
    const [row] = await dataSource.query<{ version: string }[]>(server.versionQuery)
    const version = row?.version ?? ''
    if (!server.product.test(version)) throw new Error(`${new URL(url).host} is ${version}`)
  } finally {
    await dataSource.destroy()
  }
}

/** A container's port is open before its database takes queries. */
async function untilReady(server: Server, url: string): Promise<void> {
  const deadline = Date.now() + 180_000
  for (;;) {
    try {
      await checkProduct(server, url)
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
