import type { Command } from 'commander'
import { defaultLockedBy, describePlace, type Place, type SqlLockProvider } from '../sql/internal'
import { connectDataSource } from './data-source'
import { whichDatabase } from './database'
import {
  addOptions,
  CONNECTION_OPTIONS,
  lockTableOptions,
  type ConnectionOption,
  type Flags,
  type OptionName,
} from './options'
import { warn } from './output'
import { connectUrl } from './url-connection'

/** A connection to the lock table's database, by URL or through a DataSource. */
export interface Connection {
  readonly provider: SqlLockProvider
  /** How the command knows the database. */
  readonly by: string
  /** What opens its connections, such as a driver, and whether they use TLS. */
  readonly through: string
  /** Whether there is a DataSource, none of whose entities names the table. */
  readonly isGuess?: boolean
}

/** Longer than a healthy server takes to close a connection. */
const CLOSES_WITHIN = 1_000

/**
 * Adds the command's own options and those of the connection, and sets what the command does with the database.
 *
 * @param work its `argument` is the command's first argument, as parsed
 */
export function onDatabase<Name extends OptionName>(
  command: Command,
  options: readonly Name[],
  work: (connection: Connection, flags: Flags<Name | ConnectionOption>, argument: never) => Promise<void>,
): void {
  addOptions(command, ...options, ...CONNECTION_OPTIONS).action(() => {
    const flags = command.opts<Flags<Name | ConnectionOption>>()
    return withConnection(flags, (connection) => work(connection, flags, command.processedArgs[0] as never))
  })
}

/**
 * Connects, does the work, and closes the connection even if the work fails. Does not wait long for a server that hangs. With
 * `createTable`, a missing SQLite file is created too.
 */
export async function withConnection(
  flags: Flags<ConnectionOption> & Partial<Flags<'createTable'>>,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const database = await whichDatabase(flags)
  // Only `exec` acquires locks. If it is killed, its command goes on, so `list` must not find its process in the owner.
  const options = { ...lockTableOptions(flags), lockedBy: `${defaultLockedBy()}/exec` }
  const connection =
    'url' in database
      ? await connectUrl(database.url, options, flags.createTable)
      : await connectDataSource(database.dataSource, options, flags.createTable)
  try {
    await work({ ...connection, by: database.by })
  } finally {
    await connection.provider.drain(2 * CLOSES_WITHIN).catch(() => undefined)
    const closed = connection.close().catch(() => undefined)
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSES_WITHIN))])
  }
}

/** Prints which table is about to be changed. */
export async function announce({ provider }: Connection, quiet = false): Promise<Place> {
  const place = await provider.table.place()
  if (!quiet) warn(describePlace(place))
  return place
}
