import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Stands between a client and its server, and can cut the line right after the server was sent a statement. */
export interface CuttingProxy {
  readonly port: number
  /** Delivers the next statement that matches, and drops the client before it hears the answer. */
  cutAfter(statement: RegExp): Promise<void>
  close(): void
}

export async function cuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let cut: { statement: RegExp; done: () => void } | undefined

  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // What is cut makes errors on both sides.
      socket.on('error', () => undefined)
    }
    client.on('data', (chunk) => {
      upstream.write(chunk)
      if (!cut?.statement.test(chunk.toString('latin1'))) return
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
    cutAfter: (statement) =>
      new Promise((done) => {
        cut = { statement, done }
      }),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
