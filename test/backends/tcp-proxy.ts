import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export const LOCAL = '127.0.0.1'

/** What happens to a request. */
export interface Mishap {
  /** Its connection is cut before the server gets it. */
  readonly cut?: true
  /** By how many milliseconds it is delayed. Those of other connections are not. */
  readonly delay?: number
  /** Its answer is lost: after so many milliseconds its connection is cut instead. */
  readonly losesAnswerAfter?: number
}

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /** Whether the traffic is swallowed in both directions while both connections stay open. */
  silent?: true
}

/** The network between clients and a database server, which can be made to fail. */
export class TcpProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #cutAfter: { readonly values: RegExp; nth: number; readonly done: () => void } | undefined
  /** The last write to each socket. Writes wait for each other, because delayed pieces of a stream must not be reordered. */
  readonly #sent = new WeakMap<Socket, Promise<void>>()
  #blackHole = false
  #isMute = false
  #delay = 0
  #port = 0

  /** What happens to a request, beside what is asked of the proxy. */
  protected readonly mishapOf: (request: Buffer) => Mishap = () => ({})

  /** To be opened with `listen`. */
  constructor(
    private serverPort: number,
    host: string,
  ) {
    this.#server = createServer((client) => {
      this.#pipe(client, connect(this.serverPort, host))
    })
  }

  static async listen<Proxy extends TcpProxy>(
    this: new (port: number, host: string) => Proxy,
    port: number,
    host = LOCAL,
  ): Promise<Proxy> {
    const proxy = new this(port, host)
    await proxy.listenOn(0)
    return proxy
  }

  get port(): number {
    return this.#port
  }

  /**
   * Delivers the next request whose values match, and cuts its client before the answer. Values are sent as they are; the text of a
   * statement is not, once it is prepared.
   *
   * @param nth which of the matching requests, from 1
   */
  cutAfter(values: RegExp, nth = 1): Promise<void> {
    return new Promise((done) => {
      this.#cutAfter = { values, nth, done }
    })
  }

  /** Directs new connections to the server on this port. Existing connections stay. */
  redirect(serverPort: number): void {
    this.serverPort = serverPort
  }

  cutAll(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy()
      upstream.destroy()
    }
  }

  /** Swallows the traffic of all connections in both directions. The connections stay open until it ends. */
  blackHole(on: boolean): void {
    this.#blackHole = on
    // The swallowed data is missing from the streams, so these connections can no longer be used.
    if (!on) this.cutAll()
  }

  /** Swallows the traffic of existing connections for good, as if the server's machine had vanished. New connections work. */
  silence(): void {
    for (const pair of this.#pairs) pair.silent = true
  }

  /** Accepts new connections, but never answers them. They stay silent for good; those that are opened later work. */
  mute(on: boolean): void {
    this.#isMute = on
  }

  /** Delays all traffic by this many milliseconds in each direction. */
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

  async listenOn(port: number): Promise<void> {
    await once(this.#server.listen(port, LOCAL), 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  #pipe(client: Socket, upstream: Socket): void {
    const pair: Pair = { client, upstream, ...(this.#isMute && { silent: true }) }
    this.#pairs.add(pair)
    const end = (): void => {
      this.#pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', end)
    }
    // A connection that is closed in a black hole stays open on the other side.
    upstream.on('close', () => {
      if (!this.#isSilent(pair)) end()
    })
    // Let the server still get what the client sent before it closed.
    client.on('close', () => {
      if (!this.#isSilent(pair)) void (this.#sent.get(upstream) ?? Promise.resolve()).then(end)
    })
    let cutAnswer = false
    let answers = true
    client.on('data', (data) => {
      const { cut, delay, losesAnswerAfter: patience } = this.mishapOf(data)
      if (cut) {
        end()
        return
      }
      this.#forward(pair, data, upstream, delay)
      if (patience === 0) cutAnswer = true
      else if (patience !== undefined && answers) {
        answers = false
        setTimeout(end, patience)
      }
      if (!this.#cutAfter?.values.test(data.toString('latin1')) || --this.#cutAfter.nth > 0) return
      const { done } = this.#cutAfter
      this.#cutAfter = undefined
      client.destroy()
      done()
    })
    upstream.on('data', (data) => {
      if (cutAnswer) end()
      else if (answers) this.#forward(pair, data, client)
    })
  }

  #isSilent({ silent }: Pair): boolean {
    return this.#blackHole || silent === true
  }

  #forward(pair: Pair, data: Buffer, to: Socket, heldBackFor = 0): void {
    const send = async (): Promise<void> => {
      const delay = this.#delay + heldBackFor
      if (delay > 0) await sleep(delay)
      if (!this.#isSilent(pair) && !to.destroyed) to.write(data)
    }
    this.#sent.set(to, (this.#sent.get(to) ?? Promise.resolve()).then(send))
  }
}
