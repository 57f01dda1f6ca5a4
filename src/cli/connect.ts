import { Option, type Command } from 'commander'
import type { Connection } from './connection'
import { connectDataSource } from './data-source-connection'
import { CommandError, ExitCode } from './exit-code'
import { addNameOptions, lockTableOptions, type NameFlags } from './name-options'
import { connectUrl } from './url-connection'

export interface ConnectionFlags extends NameFlags {
  readonly url?: string
  readonly dataSource?: string
}

export function addConnectionOptions(command: Command): Command {
  command
    .optionsGroup('Connection:')
    .addOption(
      new Option(
        '--url <url>',
        'postgres://…, cockroachdb://…, mysql://…, mariadb://…, file:…, sqlserver://…, oracle://…; needs the driver of your project',
      ).env('DATABASE_URL'),
    )
    .option(
      '-d, --data-source <file>',
      "file that exports your TypeORM DataSource, as TypeORM's own command line takes it",
    )
  return addNameOptions(command)
}

/** Connects as the flags say, works, and closes the connection whatever happens. */
export async function withConnection<T>(
  { url, dataSource, ...names }: ConnectionFlags,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const options = lockTableOptions(names)
  let connection: Connection
  if (dataSource !== undefined) connection = await connectDataSource(dataSource, options)
  else if (url !== undefined) connection = await connectUrl(url, options)
  else throw new CommandError(ExitCode.usage, 'Which database? Give --url, DATABASE_URL or --data-source.')
  try {
    return await work(connection)
  } finally {
    await connection.close().catch(() => undefined)
  }
}
