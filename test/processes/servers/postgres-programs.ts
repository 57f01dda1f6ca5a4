import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runAs, startAs } from './server-process'

/** PostgreSQL refuses to be root's. */
export const POSTGRES_USER = 'postgres'

/** Debian keeps them out of the path, one folder for each version. */
const FOLDER = '/usr/lib/postgresql'
const versions = existsSync(FOLDER)
  ? readdirSync(FOLDER).sort((one, other) => Number(one) - Number(other))
  : []
const newest = versions.at(-1)
/** The folder of its programs. */
export const POSTGRES_BINARIES = newest === undefined ? undefined : join(FOLDER, newest, 'bin')

/** Whether there is a server to start. */
export const hasPostgres = POSTGRES_BINARIES !== undefined && existsSync(join(POSTGRES_BINARIES, 'postgres'))

const program = (name: string): string =>
  POSTGRES_BINARIES === undefined ? name : join(POSTGRES_BINARIES, name)

/** Runs one of PostgreSQL's programs to its end. */
export function runPostgres(name: string, args: readonly string[]): Promise<string> {
  return runAs(POSTGRES_USER, program(name), args)
}

/** Makes a data directory whose user `postgres` may do everything. */
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
