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
/** Names prepared statements, which only PostgreSQL has. */
export const createHash = undefined
/** Identifies the file of an ORM's SQLite database. */
export const statSync = undefined

Object.assign(globalThis, {
  process: { pid: 0, emitWarning: console.warn },
  Buffer: { byteLength: (text: string) => new TextEncoder().encode(text).length },
})
