import { Lease, whenOver } from '../core/internal'

const IDLE = 10_000

/**
 * Opens a connection of its own, besides those of the client, when one is needed, and closes it after ten seconds without use,
 * because nothing reports that the app has closed its client. Does not keep the process alive.
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
      // One timer serves all uses: each use only postpones its end.
      if (!isWatched) whenOver(() => idle.remaining(), closeIfIdle)
      isWatched = true
    }
  }
}
