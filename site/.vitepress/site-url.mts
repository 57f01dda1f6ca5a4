const { SITE_URL = '' } = process.env

/**
 * Where the site will be, with the path under which it lies there, such as `https://example.org/shedlock-orm`: the one place that says so.
 * Without it the build is right for `npm --prefix site run preview`.
 */
export const siteUrl = new URL(SITE_URL === '' ? 'http://localhost:4173/' : `${SITE_URL.replace(/\/$/, '')}/`)

/** The whole address of a page or a file of the site. */
export function absolute(path: string): string {
  return new URL(path.replace(/^\//, ''), siteUrl).href
}
