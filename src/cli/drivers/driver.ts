import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Driver } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { databaseFailure, wrongUsage, type CommandError } from '../command-error'

/** What the command line uses of a database driver in the user's project. */
export interface CliDriver extends Driver {
  /** @param create creates the database if it is a file */
  open(url: string, create: boolean): Promise<DriverConnection>
}

export interface DriverConnection {
  query(
    text: string,
    values: readonly (string | number | null)[],
  ): Promise<{ rows: readonly SqlRow[]; changed: number }>
  close(): Promise<unknown>
}

/**
 * Loads the first of these packages that can be found from the user's project or from one of its packages in `via`. With pnpm, a
 * driver that only a Prisma adapter depends on cannot be found from the project itself.
 */
export function loadDriver(
  packages: readonly string[],
  via: readonly string[],
): { name: string; exports: unknown } {
  const project = createRequire(join(process.cwd(), 'package.json'))
  const carriers = via.flatMap((name) => pathOf(project, name) ?? [])
  for (const place of [project, ...carriers.map((path) => createRequire(path))]) {
    for (const name of packages) {
      const path = pathOf(place, name)
      if (path !== undefined) return { name, exports: place(path) as unknown }
    }
  }
  throw databaseFailure(
    `There is no driver for this database in ${process.cwd()} – install ${packages.map(packageOf).join(' or ')}, or use --data-source.`,
  )
}

/** @returns `undefined` when the package is not installed there */
function pathOf(place: NodeJS.Require, name: string): string | undefined {
  try {
    return place.resolve(name)
  } catch {
    return undefined
  }
}

/** Shortens `mysql2/promise` to `mysql2`, because npm would install the former from GitHub. */
function packageOf(path: string): string {
  return path.split('/')[0] ?? path
}

/**
 * Parses `scheme://user:password@host/database` by the standard that the drivers' own parsers follow. Rejects a URL that parsers may
 * read differently, because an error might then show a part of the password as the host.
 *
 * @throws CommandError whose message contains nothing of the URL
 */
export function readUrl(text: string): URL {
  const [, afterAuthority = ''] = /^[^:]*:\/\/[^/?#]*(.*)$/s.exec(text) ?? []
  if (!URL.canParse(text) || afterAuthority.includes('@')) throw unreadable()
  const url = new URL(text)
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part)
  } catch {
    throw unreadable()
  }
  return url
}

/** Drivers want the IPv6 address of a URL without its brackets. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

function unreadable(): CommandError {
  return wrongUsage(
    'The URL cannot be read – percent-encode special characters in the user and the password: @ as %40, / as %2F, # as %23, ? as %3F, % as %25.',
  )
}
