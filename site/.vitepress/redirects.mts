import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SiteConfig } from 'vitepress'
import { absolute } from './site-url.mts'

/** Where the pages have gone whose addresses others may have kept. A heading keeps its name in the address. */
export const moved: Readonly<Record<string, string>> = {
  '/docs/semantics': '/docs/how-a-lock-behaves',
  '/docs/guarantees': '/docs/how-a-lock-behaves',
  '/docs/tasks': '/docs/options',
  '/docs/guides/durations': '/docs/schedulers',
  '/docs/guides/multi-tenant': '/docs/guides/recipes',
  '/docs/guides/poolers-and-serverless': '/docs/guides/failover',
  '/docs/guides/from-java-shedlock': '/docs/guides/coming-from',
  '/docs/guides/from-redlock': '/docs/guides/coming-from',
  '/docs/guides/from-advisory-locks': '/docs/guides/coming-from',
  '/docs/guides/a-storage-of-your-own': '/docs/guides/other-sql-clients',
  '/docs/dialects': '/docs/works-with',
  '/docs/compatible-servers': '/docs/works-with',
  '/docs/runtimes': '/docs/works-with',
  '/docs/versions': '/docs/works-with',
  '/docs/maintainers/chaos': '/verification/',
  '/docs/maintainers/model': '/verification/',
  '/docs/maintainers/mutants': '/verification/',
  '/docs/maintainers/simulation': '/verification/',
  '/docs/maintainers/promises': '/docs/maintainers/tests',
  '/docs/maintainers/features': '/docs/maintainers/tests',
}

/** Headings that have gone to another page than the rest of theirs. */
export const movedHeadings: Readonly<Record<string, string>> = {
  '/docs/semantics#slots': '/docs/schedulers#slots',
  '/docs/semantics#until-it-succeeded': '/docs/schedulers#until-it-succeeded',
  '/docs/semantics#results-and-events': '/docs/options#results-and-events',
}

/** Writes a page at each old address that redirects to the new one, because a site of files has no server to do it. */
export function writeRedirects({ outDir }: SiteConfig): void {
  for (const [from, to] of Object.entries(moved)) {
    const headings = Object.entries(movedHeadings)
      .filter(([old]) => old.startsWith(`${from}#`))
      .map(([old, heading]) => [old.slice(from.length), pathOf(heading)])
    const target = pathOf(to)
    const file = join(outDir, `${from}.html`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(
      file,
      [
        '<!doctype html>',
        `<html lang="en"><head><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="${absolute(to)}">`,
        `<script>const { hash } = location`,
        `location.replace(${JSON.stringify(Object.fromEntries(headings))}[hash] ?? ${JSON.stringify(target)} + hash)</script>`,
        // Without scripts, the heading in the address is lost.
        `<noscript><meta http-equiv="refresh" content="0; url=${target}"></noscript></head>`,
        `<body><a href="${target}">This page has moved.</a></body></html>`,
        '',
      ].join('\n'),
    )
  }
}

/** Returns the address without the host, so that a copy of the site on another host works too. */
function pathOf(address: string): string {
  const { pathname, hash } = new URL(absolute(address))
  return pathname + hash
}
