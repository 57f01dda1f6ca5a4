import type { Driver, RunStatement } from '../../drivers/internal'
import { databaseFailure, wrongUsage } from '../command-error'
import { oneLine } from '../output'
import { Project } from '../project'

/** What the command line uses of a database driver in the user's project. */
export interface CliDriver extends Driver {
  /** The packages that it can use, of which the first is for a project without any. */
  readonly packages: readonly string[]
  /** Packages that may bring one of them. */
  readonly via: readonly string[]
  /** @param create creates the database if it is a file */
  open(url: string, create: boolean): Promise<DriverConnection>
}

export interface DriverConnection {
  /** Whether it uses TLS, in words; missing for a file. */
  readonly tls?: string | undefined
  readonly run: RunStatement
  close(): unknown
}

/** Loads the first package of a driver that the user's project, or one of its packages in `via`, can load. */
export function loadDriver({ packages, via }: CliDriver): { name: string; exports: unknown } {
  const found = new Project().find(packages, via)
  if (!found)
    throw databaseFailure(
      `There is no driver for this database in ${process.cwd()} – install ${packages.join(' or ')}, or use --data-source.`,
    )
  try {
    return { name: found.name, exports: found.load() }
  } catch (error) {
    throw databaseFailure(
      `The driver ${found.name} cannot be loaded: ${oneLine(error)} – install it again, with this version of Node.js.`,
    )
  }
}

/** Describes the option `ssl` of most drivers. */
export function describeTls(ssl: unknown): string {
  const isUnchecked = (ssl as { rejectUnauthorized?: boolean } | undefined)?.rejectUnauthorized === false
  return ssl ? `TLS${isUnchecked ? ', without a check of the certificate' : ''}` : 'no TLS'
}

const UNREADABLE =
  'The URL cannot be read – check its host and port, and percent-encode special characters in all other parts: @ as %40, / as %2F, # as %23, ? as %3F, % as %25.'

/**
 * Parses `scheme://user:password@host/database` by the standard that the drivers' own parsers follow. Rejects a URL that parsers may
 * read differently, because an error might then show a part of the password as the host.
 *
 * @throws CommandError whose message contains nothing of the URL
 */
export function readUrl(text: string): URL {
  const [, afterAuthority = ''] = /^[^:]*:\/\/[^/?#]*(.*)$/s.exec(text) ?? []
  if (!URL.canParse(text) || afterAuthority.includes('@')) throw wrongUsage(UNREADABLE)
  const url = new URL(text)
  try {
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part)
  } catch {
    throw wrongUsage(UNREADABLE)
  }
  return url
}
