// Replaces what the package uses of Node.js and browsers lack. The rest of the package runs as published.

/** Follows a task to its first `await` only. */
export class AsyncLocalStorage<T> {
  #store: T | undefined
  getStore(): T | undefined {
    return this.#store
  }
  run<R>(store: T, task: () => R): R {
    const outer = this.#store
    this.#store = store
    try {
      return task()
    } finally {
      this.#store = outer
    }
  }
}

export const channel = () => ({ hasSubscribers: false })
export const uptime = (): number => performance.now() / 1_000
export const hostname = (): string => 'browser'
export const isMainThread = false
export const threadId = 0
export const randomUUID = (): string => crypto.randomUUID()
export const setImmediate = (callback: () => void): unknown => setTimeout(callback, 0)
/** Names prepared statements, which only PostgreSQL has, and permits the operators' page its style, which needs no permission here. */
export const createHash = () => {
  const hash = { update: () => hash, digest: () => '' }
  return hash
}
/** Identifies the file of an ORM's SQLite database. */
export const statSync = undefined
/** Opens a connection to MySQL. */
export const promisify = undefined

const TEXT = new TextEncoder()

class Bytes extends Uint8Array {
  override toString(encoding?: 'base64url'): string {
    if (!encoding) return new TextDecoder().decode(this)
    const base64 = btoa(String.fromCharCode(...this))
    return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  }
}

Object.assign(globalThis, {
  process: { pid: 0, emitWarning: console.warn },
  Buffer: {
    alloc: (length: number) => new Bytes(length),
    byteLength: (text: string) => TEXT.encode(text).length,
    concat: (chunks: readonly Uint8Array[]) => new Bytes(chunks.flatMap((chunk) => [...chunk])),
    from: (text: string, encoding?: 'base64url') =>
      encoding
        ? new Bytes(
            Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) =>
              each.charCodeAt(0),
            ),
          )
        : new Bytes(TEXT.encode(text)),
  },
})
