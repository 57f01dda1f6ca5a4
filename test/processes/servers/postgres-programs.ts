import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runAs, startAs } from './server-process'

/** The user that runs PostgreSQL if the harness runs as root, because PostgreSQL refuses to. */
export const POSTGRES_USER = 'postgres'

/** Debian installs each version's programs in a folder of its own, which is not on the path. */
const FOLDER = '/usr/lib/postgresql'
const versions = existsSync(FOLDER)
  ? readdirSync(FOLDER).sort((one, other) => Number(one) - Number(other))
  : []
const newest = versions.at(-1)
/** The folder with the programs of the newest installed version. */
export const POSTGRES_BINARIES = newest === undefined ? undefined : join(FOLDER, newest, 'bin')

/** Whether PostgreSQL's server is installed. */
export const hasPostgres = POSTGRES_BINARIES !== undefined && existsSync(join(POSTGRES_BINARIES, 'postgres'))

const program = (name: string): string =>
  POSTGRES_BINARIES === undefined ? name : join(POSTGRES_BINARIES, name)

/** Runs one of PostgreSQL's programs to its end. */
export function runPostgres(name: string, args: readonly string[]): Promise<string> {
  return runAs(POSTGRES_USER, program(name), args)
}

/** Creates a data directory whose superuser is `postgres`. */
export async function initializePostgres(data: string): Promise<void> {
  await runPostgres('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '--wal-segsize=1'])
}

/** Starts a server on a data directory. */
export function startPostgres(
  data: string,
  settings: Readonly<Record<string, string | number>>,
  environment: NodeJS.ProcessEnv = {},
) {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return startAs(POSTGRES_USER, program('postgres'), ['-D', data, ...options], environment)
}
