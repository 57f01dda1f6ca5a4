import { TcpProxy, type Mishap } from '../../test/backends/tcp-proxy'

/** The prefix of the owner of every lock that a worker acquires. */
export const WORKER = 'chaos-worker'

/** In milliseconds, the longest that a request or an answer is in transit, unless it is lost. */
export const LATEST_DELIVERY = 2_500

export interface RequestAboutLock {
  /** Whether the request is a holder's: its owner has occurred before, so it extends, guards or releases. Others acquire. */
  readonly ofHolder: boolean
}
type Choose = (request: RequestAboutLock) => Mishap

const OWNER = new RegExp(`${WORKER}/[0-9a-f-]{36}`)

/** A network that disturbs what is about a lock. */
export class Network extends TcpProxy {
  readonly #disturbing = new Set<Choose>()
  /** The owners that have occurred in requests. */
  readonly #owners = new Set<string>()

  protected override readonly mishapOf = (data: Buffer): Mishap => {
    const request = this.#requestAboutLock(data)
    const mishaps = request ? [...this.#disturbing].map((choose) => choose(request)) : []
    return Object.assign({}, ...mishaps) as Mishap
  }

  /** Disturbs requests about locks. @returns a function that lets them be */
  disturb(choose: Choose): () => void {
    this.#disturbing.add(choose)
    return () => this.#disturbing.delete(choose)
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
