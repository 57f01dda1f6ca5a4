import { loadEnvFile } from 'node:process'
import type { Command } from 'commander'
import type { Connection } from './connection'
import { connectDataSource } from './data-source-connection'
import { CommandError, ExitCode } from './exit-code'
import { lockTableOptions, type NameFlags } from './name-flags'
import { addOptions, CONNECTION_OPTIONS, NAME_OPTIONS } from './options'
import { connectUrl } from './url-connection'

export interface ConnectionFlags extends NameFlags {
  readonly url?: string
  readonly dataSource?: string
  readonly env?: string
  /** The table is made first, and with it the file of SQLite. */
  readonly createTable?: boolean
}

export function addConnectionOptions(command: Command): Command {
  return addOptions(command, ...CONNECTION_OPTIONS, ...NAME_OPTIONS)
}

/** Connects as the flags say, works, and closes the connection whatever happens. */
export async function withConnection<T>(
  flags: ConnectionFlags,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(flags)
  try {
    return await work(connection)
  } finally {
    await connection.close().catch(() => undefined)
  }
}

async function connect({
  url,
  dataSource,
  env,
  createTable,
  ...names
}: ConnectionFlags): Promise<Connection> {
  const options = lockTableOptions(names)
  if (env !== undefined) readEnvironment(env)
  const address = url ?? process.env['DATABASE_URL']
  if (dataSource !== undefined) return connectDataSource(dataSource, options)
  if (address !== undefined) return connectUrl(address, options, createTable)
  throw new CommandError(
    ExitCode.usage,
    'Which database? Give --url, DATABASE_URL in the environment or in --env, or --data-source.',
  )
}

/** As `node --env-file` does; what is in the environment already stands. */
function readEnvironment(file: string): void {
  try {
    loadEnvFile(file)
  } catch (error) {
    throw new CommandError(ExitCode.usage, `${file} cannot be read: ${(error as Error).message}`)
  }
}
