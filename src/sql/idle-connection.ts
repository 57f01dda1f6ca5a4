import { Lease, whenOver } from '../core/internal'

const IDLE = 10_000

/**
 * A connection of our own beside those of the client: opened when it is needed, and closed when it was not used for ten
 * seconds, since nothing tells us that the app has closed its client. Keeps no process alive.
 */
export function idleConnection<Connection>(
  open: () => Promise<Connection>,
  close: (connection: Connection) => unknown,
): <T>(work: (connection: Connection) => T | PromiseLike<T>) => Promise<T> {
  let opened: Promise<Connection> | undefined
  let users = 0
  let idle: Lease
  let isWatched = false

  const closeIfIdle = (): void => {
    isWatched = false
    if (users > 0) return
    void opened?.then(close).catch(() => undefined)
    opened = undefined
  }

  return async (work) => {
    users++
    try {
      opened ??= open().catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return await work(await opened)
    } finally {
      users--
      idle = new Lease(IDLE)
      // One timer for all uses: each of them only moves its end.
      if (!isWatched) whenOver(() => idle.remaining(), closeIfIdle)
      isWatched = true
    }
  }
}
