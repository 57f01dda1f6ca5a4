import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { describePlace, type Place, type SqlLockProvider } from '../sql/internal'
import { wrongUsage, type CommandError } from './command-error'
import { connectDataSource } from './data-source'
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
  /** The host, by the name that the user gave, which people recognise. SQLite has none. */
  readonly server?: string | undefined
  /** The setting of the DataSource that would limit how long a connection may take to open, if it is not set. */
  readonly missingLimit?: string | undefined
  /** Whether it is a DataSource without the entity that would name the table. */
  readonly hasNoEntity?: boolean
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
): Promise<void> {
  const connection = await connect(flags)
  try {
    await work(connection)
  } finally {
    await connection.provider.drain(2 * CLOSES_WITHIN).catch(() => undefined)
    const closed = connection.close().catch(() => undefined)
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSES_WITHIN))])
  }
}

function connect({ url, dataSource, env, createTable, ...names }: ConnectionFlags): Promise<Connection> {
  const options = lockTableOptions(names)
  if (url !== undefined && dataSource !== undefined) throw twice('--url', '--data-source')
  if (env !== undefined) readEnvironment(env, url, dataSource !== undefined)
  const address = url ?? process.env['DATABASE_URL'] ?? ''
  if (dataSource !== undefined) return connectDataSource(dataSource, options)
  if (address !== '') return connectUrl(address, options, createTable)
  throw wrongUsage(
    'No database is named – set --url, DATABASE_URL in the environment or in --env, or --data-source.',
  )
}

/** Sets variables from the file. Rejects a relevant one that is already set differently: either may mean the wrong database. */
function readEnvironment(file: string, url: string | undefined, all: boolean): void {
  let values: NodeJS.Dict<string>
  try {
    values = parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${(error as Error).message}`)
  }
  const differs = (name: string, value: string | undefined): boolean =>
    value !== undefined && values[name] !== undefined && values[name] !== value
  if (differs('DATABASE_URL', url)) throw twice('--url', `DATABASE_URL of ${file}`)
  const used = all ? Object.keys(values) : url === undefined ? ['DATABASE_URL'] : []
  const [name] = used.filter((each) => differs(each, process.env[each]))
  if (name !== undefined) throw twice(`${name} of the environment`, `${name} of ${file}`)
  for (const [each, value] of Object.entries(values)) process.env[each] ??= value
}

function twice(one: string, other: string): CommandError {
  return wrongUsage(`${one} and ${other} may mean two databases – set only one of them.`)
}

/** Prints which table is about to be changed. */
export async function announce(connection: Connection, quiet = false): Promise<Place> {
  const place = await placeOfConnection(connection)
  if (!quiet) warn(describePlace(place))
  return place
}

export async function placeOfConnection({ provider, server }: Connection): Promise<Place> {
  return { ...(await provider.table.place()), server }
}
