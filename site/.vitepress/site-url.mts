const { SITE_URL = '' } = process.env

/**
 * The URL under which the site is published, including its path, such as `https://example.org/shedlock-orm`. It is set only here.
 * Without it, the build works for `npm --prefix site run preview`.
 */
export const siteUrl = new URL(SITE_URL === '' ? 'http://localhost:4173/' : `${SITE_URL.replace(/\/$/, '')}/`)

/** Returns the absolute URL of a page or file of the site. */
export function absolute(path: string): string {
  return new URL(path.replace(/^\//, ''), siteUrl).href
}
