import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Begins the owner's text of every lock of a worker. */
export const WORKER = 'chaos-worker'

/** Cut `before` the server gets the statement, or `after` it, so that only the answer is lost. */
export type Cut = 'before' | 'after'

/** Milliseconds: no request and no answer is under way for longer than this, apart from what never comes. */
export const LATEST_DELIVERY = 2_500

export interface RequestAboutLock {
  /** Its owner has spoken before, so it extends, guards or unlocks; others look or take. */
  readonly ofHolder: boolean
}
type Choose<T> = (request: RequestAboutLock) => T

const OWNER = new RegExp(`${WORKER}/[0-9a-f-]{36}`)

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /** Neither side gets anything from the other any more, and nobody notices. */
  silent?: true
}

/** The network between clients and a database server, which can be made to fail. */
export class TcpProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #cuts: Cut[] = []
  /** One after the other for each direction, or the pieces of a stream would change places. */
  readonly #sent = new WeakMap<Socket, Promise<void>>()
  /** The owners that were sent to the server before. */
  readonly #owners = new Set<string>()
  #holdBack: Choose<number> = () => 0
  #loseAnswer: Choose<number | undefined> = () => undefined
  #blackHole = false
  #delay = 0

  private constructor(
    private serverPort: number,
    host: string,
  ) {
    this.#server = createServer((client) => {
      this.#pipe(client, connect(this.serverPort, host))
    })
  }

  static async listen(port: number, host = '127.0.0.1'): Promise<TcpProxy> {
    const proxy = new TcpProxy(port, host)
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

  /** @param choose called for each request about a lock: for how many milliseconds it stays behind, while other connections go on */
  holdBack(choose: Choose<number> = () => 0): void {
    this.#holdBack = choose
  }

  /**
   * @param choose called for each request about a lock: after how many milliseconds its connection is cut instead of
   *   answered; `undefined`: it is answered
   */
  loseAnswers(choose: Choose<number | undefined> = () => undefined): void {
    this.#loseAnswer = choose
  }

  /** New connections lead to the server on this port; those that are there stay. */
  lead(serverPort: number): void {
    this.serverPort = serverPort
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

  /** The machine behind the connections that are there is gone, and sends no reset. New ones are answered. */
  silence(): void {
    for (const pair of this.#pairs) pair.silent = true
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
    const pair: Pair = { client, upstream }
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
    // A client that died in a black hole is not heard of by its server.
    upstream.on('close', () => {
      if (!this.#isSilent(pair)) end()
    })
    // What it sent before still comes to the server.
    client.on('close', () => {
      if (!this.#isSilent(pair)) void (this.#sent.get(upstream) ?? Promise.resolve()).then(end)
    })
    let cutAnswer = false
    let answers = true
    client.on('data', (data) => {
      const request = this.#requestAboutLock(data)
      const cut = request ? this.#cuts.shift() : undefined
      if (cut === 'before') {
        end()
        return
      }
      if (cut === 'after') cutAnswer = true
      this.#forward(pair, data, upstream, request ? this.#holdBack(request) : 0)
      const patience = request ? this.#loseAnswer(request) : undefined
      if (patience === 0) cutAnswer = true
      else if (patience !== undefined && answers) {
        answers = false
        setTimeout(end, patience)
      }
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

  /** A prepared statement's text is sent once, but its values each time, and the lock's are known by its owner. */
  #requestAboutLock(data: Buffer): RequestAboutLock | undefined {
    // SQL Server's texts are in UTF-16, Oracle's names in capitals.
    const text = data.toString('latin1').replaceAll('\0', '')
    if (text.includes('resource') || !(/shedlock/i.test(text) || text.includes(WORKER))) return undefined
    const owner = OWNER.exec(text)?.[0]
    const ofHolder = owner !== undefined && this.#owners.has(owner)
    if (owner !== undefined) this.#owners.add(owner)
    return { ofHolder }
  }
}
