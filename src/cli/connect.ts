import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { describePlace, type Place, type SqlLockProvider } from '../sql/internal'
import { wrongUsage, type CommandError } from './command-error'
import { connectDataSource } from './data-source'
import { readEnvironment, usualFileWith } from './environment'
import {
  addOptions,
  CONNECTION_OPTIONS,
  lockTableOptions,
  type ConnectionOption,
  type Flags,
  type OptionName,
} from './options'
import { warn } from './output'
import { prismaProjects } from './prisma-project'
import { Project } from './project'
import { connectUrl } from './url-connection'

/** A connection to the lock table's database, by URL or through a DataSource. */
export interface Connection {
  readonly provider: SqlLockProvider
  /** The setting of the DataSource that would limit how long a connection may take to open, if it is not set. */
  readonly missingLimit?: string | undefined
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

async function connect({
  url,
  dataSource,
  env,
  createTable,
  ...names
}: ConnectionFlags): Promise<Connection> {
  const options = lockTableOptions(names)
  if (url !== undefined && dataSource !== undefined) throw twice('--url', '--data-source')
  const variables = env === undefined ? {} : readEnvironment(env)
  const file = env ?? ''
  const { DATABASE_URL: inFile } = variables
  if (url !== undefined && inFile !== undefined && inFile !== url)
    throw twice('--url', `DATABASE_URL of ${file}`)
  /** Either value may mean the wrong database. */
  const checkSame = (...names: readonly string[]): void => {
    const name = names.find((each) => variables[each] !== undefined && variables[each] !== process.env[each])
    if (name !== undefined) throw twice(`${name} of the environment`, `${name} of ${file}`)
  }
  if (dataSource !== undefined) {
    checkSame(...Object.keys(variables))
    return connectDataSource(dataSource, options, createTable)
  }
  if (url === undefined) checkSame('DATABASE_URL')
  const address = url === undefined || url === '' ? await urlOfEnvironment(checkSame) : url
  const [, unknown] = /\$\{(\w+)/.exec(address) ?? []
  if (unknown !== undefined)
    throw wrongUsage(
      `The URL contains \${${unknown}} instead of its value – set ${unknown} in the file of --env, or write the value.`,
    )
  return connectUrl(address, options, createTable)
}

/** The URL in DATABASE_URL, or else the one that the project's Prisma uses. @param checkSame called with the name of its variable */
async function urlOfEnvironment(checkSame: (name: string) => void): Promise<string> {
  const { DATABASE_URL: usualUrl = '' } = process.env
  const file = relativeFile(usualUrl)
  if (usualUrl !== '' && (file === undefined || existsSync(file))) return usualUrl
  const [prisma] = await prismaProjects(new Project())
  if (usualUrl !== '') return prisma ? fileOfSchema(usualUrl, prisma.schema) : usualUrl
  const variable = prisma?.variable
  if (variable !== undefined) checkSame(variable)
  const url = prisma?.url ?? process.env[variable ?? ''] ?? ''
  if (prisma && url !== '') return fileOfSchema(url, prisma.schema)
  const names = ['DATABASE_URL', ...(variable === undefined ? [] : [variable])]
  const usual = usualFileWith(names)
  const advice = usual === undefined ? '' : ` ${usual} sets it: add --env ${usual}.`
  throw wrongUsage(
    `No database is named – set --url, ${[...new Set(names)].join(' or ')} in the environment or in --env, or --data-source.${advice}`,
  )
}

/** Prisma's engines, unlike its adapters, look for a relative file beside the schema. */
function fileOfSchema(url: string, schema: string): string {
  const path = relativeFile(url)
  if (path === undefined || existsSync(path)) return url
  const beside = join(dirname(schema), path)
  return existsSync(beside) ? `file:${beside}` : url
}

/** The path in a URL `file:`, unless it is absolute. */
function relativeFile(url: string): string | undefined {
  return /^file:(?!\/)([^?]*)/.exec(url)?.[1]
}

function twice(one: string, other: string): CommandError {
  return wrongUsage(`${one} and ${other} may mean two databases – set only one of them.`)
}

/** Prints which table is about to be changed. */
export async function announce({ provider }: Connection, quiet = false): Promise<Place> {
  const place = await provider.table.place()
  if (!quiet) warn(describePlace(place))
  return place
}
