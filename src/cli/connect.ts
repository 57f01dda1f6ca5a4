import type { Command } from 'commander'
import { describePlace, type Place, type SqlLockProvider } from '../sql/internal'
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
  /** How many entities of the DataSource could name the table, if none of them does. */
  readonly unnamedBy?: number | undefined
  close(): Promise<unknown>
}

/** Longer than a healthy server takes to close a connection. */
const CLOSES_WITHIN = 1_000

/** With `createTable`, a missing SQLite file is created too. */
type ConnectionFlags = Flags<ConnectionOption> & Partial<Flags<'createTable'>>

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

/** Connects, does the work, and closes the connection even if the work fails. Does not wait long for a server that hangs. */
export async function withConnection(
  flags: ConnectionFlags,
  work: (connection: Connection) => Promise<void>,
  lockedBy?: string,
): Promise<void> {
  const connection = await connect(flags, lockedBy)
  try {
    await work(connection)
  } finally {
    await connection.provider.drain(2 * CLOSES_WITHIN).catch(() => undefined)
    const closed = connection.close().catch(() => undefined)
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSES_WITHIN))])
  }
}

async function connect(
  { createTable, ...flags }: ConnectionFlags,
  lockedBy: string | undefined,
): Promise<Connection> {
  const options = { ...lockTableOptions(flags), ...(lockedBy !== undefined && { lockedBy }) }
  const database = await whichDatabase(flags)
  const connection =
    'url' in database
      ? await connectUrl(database.url, options, createTable)
      : await connectDataSource(database.dataSource, options, createTable)
  return { ...connection, by: database.by }
}

/** Prints which table is about to be changed. */
export async function announce({ provider }: Connection, quiet = false): Promise<Place> {
  const place = await provider.table.place()
  if (!quiet) warn(describePlace(place))
  return place
}
