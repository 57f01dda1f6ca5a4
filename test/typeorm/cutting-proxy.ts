import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Stands between a client and its server, and can cut the line right after the server was sent a statement. */
export interface CuttingProxy {
  readonly port: number
  /**
   * Delivers the next request whose values match, and drops the client before it gets the answer. Values are sent as they are;
   * the text of a statement is not, once it is prepared.
   *
   * @param nth which of the matching requests, from 1
   */
  cutAfter(values: RegExp, nth?: number): Promise<void>
  /** Drops all clients, and refuses new ones. */
  close(): void
}

export async function cuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let cut: { values: RegExp; nth: number; done: () => void } | undefined

  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // What is cut makes errors on both sides.
      socket.on('error', () => undefined)
    }
    client.on('data', (chunk) => {
      upstream.write(chunk)
      if (!cut?.values.test(chunk.toString('latin1')) || --cut.nth > 0) return
      const { done } = cut
      cut = undefined
      client.destroy()
      done()
    })
    upstream.on('data', (chunk) => {
      if (!client.destroyed) client.write(chunk)
    })
    upstream.on('close', () => client.destroy())
    client.on('end', () => upstream.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (values, nth = 1) =>
      new Promise((done) => {
        cut = { values, nth, done }
      }),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
