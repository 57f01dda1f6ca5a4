import { CommandError, ExitCode } from './exit-code'

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
  return new CommandError(
    ExitCode.usage,
    'The URL cannot be read – percent-encode special characters in the user and the password: @ as %40, / as %2F, # as %23, ? as %3F, % as %25.',
  )
}
