import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Cut `before` the server gets the statement, or `after` it, so that only the answer is lost. */
export type Cut = 'before' | 'after'

/** The network between the workers and the database server, which can be made to fail. */
export class TcpProxy {
  readonly #server: Server
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>()
  readonly #cuts: Cut[] = []
  /** One after the other for each direction, or the pieces of a stream would change places. */
  readonly #sent = new WeakMap<Socket, Promise<void>>()
  #blackHole = false
  #delay = 0

  private constructor(target: number) {
    this.#server = createServer((client) => {
      this.#pipe(client, connect(target, '127.0.0.1'))
    })
  }

  static async listen(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The next connection that speaks of the lock table is cut. */
  cutNext(cut: Cut): void {
    this.#cuts.push(cut)
  }

  cutAll(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy()
      upstream.destroy()
    }
  }

  /** Swallows everything in both directions, and tells nobody. */
  blackHole(on: boolean): void {
    this.#blackHole = on
    // What was swallowed will never come, so those connections are of no use any more.
    if (!on) this.cutAll()
  }

  /** Milliseconds that each piece of traffic takes longer, each way. */
  slowDown(delay: number): void {
    this.#delay = delay
  }

  async close(): Promise<void> {
    this.cutAll()
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
    })
  }

  #pipe(client: Socket, upstream: Socket): void {
    const pair = { client, upstream }
    this.#pairs.add(pair)
    const end = (): void => {
      this.#pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', () => {
        // A client that died in a black hole is not heard of by its server.
        if (!this.#blackHole) end()
      })
    }
    let cutAnswer = false
    client.on('data', (data) => {
      const cut = data.includes('shedlock') ? this.#cuts.shift() : undefined
      if (cut === 'before') {
        end()
        return
      }
      if (cut === 'after') cutAnswer = true
      this.#forward(data, upstream)
    })
    upstream.on('data', (data) => {
      if (cutAnswer) end()
      else this.#forward(data, client)
    })
  }

  #forward(data: Buffer, to: Socket): void {
    const send = async (): Promise<void> => {
      if (this.#delay > 0) await sleep(this.#delay)
      if (!this.#blackHole && !to.destroyed) to.write(data)
    }
    this.#sent.set(to, (this.#sent.get(to) ?? Promise.resolve()).then(send))
  }
}
