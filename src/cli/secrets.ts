/** A shorter one would turn ordinary words into stars; drivers do not print passwords anyway. */
const SHORTEST = 4
const secrets = new Set<string>()

/** From now on no output shows this text. */
export function hide(secret: unknown): void {
  if (typeof secret !== 'string' || secret.length < SHORTEST) return
  secrets.add(secret)
  secrets.add(encodeURIComponent(secret))
}

/**
 * Hides the password of a URL: `scheme://user:password@host`, `…;password=…`, `…?password=…`. And each piece of it, because
 * another parser may end it at a character that should have been escaped.
 */
export function hideUrl(url: string): void {
  const credentials = /:\/\/[^/@:]*:(.*)@/.exec(url)?.[1] ?? ''
  const parameters = [...url.matchAll(/[;?&](?:password|pwd)=(\{[^}]*\}|[^;&]*)/gi)].map(
    ([, value]) => value ?? '',
  )
  const passwords = [credentials, ...parameters]
  const pieces = passwords.flatMap((password) => password.split(/[@:/?#;{}]/))
  for (const secret of [...passwords, ...pieces]) {
    hide(secret)
    try {
      hide(decodeURIComponent(secret))
    } catch {
      continue
    }
  }
}

export function scrub(text: string): string {
  let scrubbed = text
    .replace(/:\/\/[^/@:\s]*:\S*@/g, '://***@')
    .replace(/\b(password|pwd)=[^;&\s]+/gi, '$1=***')
  for (const secret of [...secrets].sort((one, other) => other.length - one.length)) {
    scrubbed = scrubbed.replaceAll(secret, '***')
  }
  return scrubbed
}
