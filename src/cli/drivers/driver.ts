import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Driver } from '../../drivers/internal'
import type { SqlRow } from '../../sql/internal'
import { databaseFailure, wrongUsage, type CommandError } from '../command-error'

/** A database driver of the user's project, at the least that the command line needs of it. */
export interface CliDriver extends Driver {
  /** @param create makes the database, where that is a file */
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
 * Loads the first of these packages that the user's project has, itself or through one of the packages in `via`: with
 * pnpm a driver that only an adapter of Prisma depends on is not found from the project.
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

/** `mysql2` of `mysql2/promise`: npm reads the latter as a repository on GitHub. */
function packageOf(path: string): string {
  return path.split('/')[0] ?? path
}

/**
 * Reads `scheme://user:password@host/database` by the standard that the drivers' own parsers follow. What one parser could
 * read otherwise than another is refused, or a part of the password might turn up as a host in an error.
 *
 * @throws CommandError that shows nothing of the URL
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

function unreadable(): CommandError {
  return wrongUsage(
    'The URL cannot be read – percent-encode special characters in the user and the password: @ as %40, / as %2F, # as %23, ? as %3F, % as %25.',
  )
}
