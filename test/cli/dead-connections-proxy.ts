import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A line to a server that goes dead without a word, as when a machine or a route is lost. */
export interface BlackHole {
  readonly port: number
  /** From now on nothing passes on the connections that are there; new ones are fine, unless `all`. */
  swallow(all?: boolean): void
  close(): void
}

export async function blackHole(serverPort: number): Promise<BlackHole> {
  const sockets = new Set<Socket>()
  const dead = new Set<Socket>()
  let isDead = false
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    const isSwallowed = (): boolean => isDead || dead.has(client)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('data', (chunk) => isSwallowed() || to.write(chunk))
      from.on('end', () => isSwallowed() || to.end())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    swallow: (all = false) => {
      isDead ||= all
      for (const socket of sockets) dead.add(socket)
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
