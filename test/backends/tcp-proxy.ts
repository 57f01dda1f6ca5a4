import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { swallowConnections, type Swallowing } from './swallow-connections'

/** The prefix of the owner of every lock that a worker acquires. */
export const WORKER = 'chaos-worker'

/** In milliseconds, the longest that a request or an answer is in transit, unless it is lost. */
export const LATEST_DELIVERY = 2_500

export interface RequestAboutLock {
  /** Whether the request is a holder's: its owner has occurred before, so it extends, guards or releases. Others acquire. */
  readonly ofHolder: boolean
}
const LOCAL = '127.0.0.1'

/** What happens to a request about a lock. */
interface Mishap {
  /** Its connection is cut before the server gets it. */
  readonly cut?: true
  /** By how many milliseconds it is delayed. Those of other connections are not. */
  readonly delay?: number
  /** Its answer is lost: after so many milliseconds its connection is cut instead. */
  readonly losesAnswerAfter?: number
}
type Choose = (request: RequestAboutLock) => Mishap

const OWNER = new RegExp(`${WORKER}/[0-9a-f-]{36}`)

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
  readonly #disturbing = new Set<Choose>()
  #cutAfter: { readonly values: RegExp; nth: number; readonly done: () => void } | undefined
  /** The last write to each socket. Writes wait for each other, because delayed pieces of a stream must not be reordered. */
  readonly #sent = new WeakMap<Socket, Promise<void>>()
  /** The owners that have occurred in requests. */
  readonly #owners = new Set<string>()
  #blackHole = false
  #isMute = false
  #swallowing: Swallowing | undefined
  #delay = 0
  /** How many connections clients have opened so far. */
  opened = 0
  #port = 0

  private constructor(
    private serverPort: number,
    host: string,
  ) {
    this.#server = createServer((client) => {
      this.opened++
      this.#pipe(client, connect(this.serverPort, host))
    })
  }

  static async listen(port: number, host = '127.0.0.1'): Promise<TcpProxy> {
    const proxy = new TcpProxy(port, host)
    await proxy.#listen(0)
    return proxy
  }

  get port(): number {
    return this.#port
  }

  /** How many connections its clients keep open. */
  get open(): number {
    return [...this.#pairs].filter(({ client }) => !client.destroyed).length
  }

  /** Disturbs requests about locks. @returns a function that lets them be */
  disturb(choose: Choose): () => void {
    this.#disturbing.add(choose)
    return () => this.#disturbing.delete(choose)
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

  /**
   * Silences existing connections for good, and swallows the first packet of new ones, as if the machine had vanished. When it is
   * back, connections that are still being opened succeed as soon as they send that packet again.
   */
  async vanish(on: boolean): Promise<void> {
    if (on) {
      this.silence()
      this.#server.close()
      this.#swallowing = await swallowConnections(this.port, LOCAL)
      return
    }
    await this.#swallowing?.stop()
    this.#swallowing = undefined
    await this.#listen(this.port)
  }

  /** Delays all traffic by this many milliseconds in each direction. */
  slowDown(delay: number): void {
    this.#delay = delay
  }

  async close(): Promise<void> {
    this.cutAll()
    await this.#swallowing?.stop()
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
    })
  }

  async #listen(port: number): Promise<void> {
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
      const request = this.#requestAboutLock(data)
      const mishaps = request ? [...this.#disturbing].map((choose) => choose(request)) : []
      const { cut, delay, losesAnswerAfter: patience } = Object.assign({}, ...mishaps) as Mishap
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

  /** Recognises a request by the name of the lock table, or by an owner: the text of a prepared statement is sent only once. */
  #requestAboutLock(data: Buffer): RequestAboutLock | undefined {
    // SQL Server's statements are in UTF-16, and Oracle's names in upper case.
    const text = data.toString('latin1').replaceAll('\0', '')
    if (text.includes('resource') || !(/shedlock/i.test(text) || text.includes(WORKER))) return undefined
    const owner = OWNER.exec(text)?.[0]
    const ofHolder = owner !== undefined && this.#owners.has(owner)
    if (owner !== undefined) this.#owners.add(owner)
    return { ofHolder }
  }
}
