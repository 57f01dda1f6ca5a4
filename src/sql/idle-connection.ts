import { statSync } from 'node:fs'
import { Lease, whenOver } from '../core/internal'
import { DriverError } from './session'

/** In milliseconds. Short, because nothing reports that the app has closed its client. */
const IDLE = 1_000

interface Opened<Connection> {
  readonly connection: Promise<Connection>
  /** The file itself rather than its path: this changes if another file takes its place. */
  readonly file: string | undefined
  users: number
  isRetired: boolean
}

/**
 * Opens a connection of its own to a SQLite file, besides that of the client, and keeps it while it is used and the file is the same
 * one: opening costs more than a lock. Does not keep the process alive.
 *
 * @returns a function that works with the connection to the file at a path
 */
export function idleConnection<Connection>(
  open: (path: string) => Promise<Connection>,
  close: (connection: Connection) => unknown,
): <T>(path: string, work: (connection: Connection) => T | PromiseLike<T>) => Promise<T> {
  let current: Opened<Connection> | undefined
  let idle = new Lease(0)
  let isWatched = false
  let wasFound = false

  const closeUnused = (one: Opened<Connection>): void => {
    if (one.isRetired && one.users === 0) void one.connection.then(close).catch(() => undefined)
  }
  const retire = (one: Opened<Connection>): void => {
    if (one === current) current = undefined
    one.isRetired = true
    closeUnused(one)
  }
  const retireIdle = (): void => {
    isWatched = false
    if (current?.users === 0) retire(current)
  }

  return async (path, work) => {
    const file = fileAt(path)
    if (current && current.file !== file) retire(current)
    // Opening it would make an empty one.
    if (!file && wasFound) throw new DriverError(undefined, new Error(`there is no file ${path}`), false)
    wasFound ||= file !== undefined
    const one = (current ??= { connection: open(path), file, users: 0, isRetired: false })
    one.users++
    try {
      return await work(await one.connection)
    } catch (error) {
      // It may never have been opened.
      retire(one)
      throw error
    } finally {
      one.users--
      closeUnused(one)
      idle = new Lease(IDLE)
      // One timer serves all uses: each use only postpones its end.
      if (!isWatched) whenOver(() => idle.remaining(), retireIdle)
      isWatched = true
    }
  }
}

/** Identifies the file at a path, if there is one. While it is open, no other file gets its number, even if it has been deleted. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
