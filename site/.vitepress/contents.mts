import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

const README = new URL('../../docs/README.md', import.meta.url)

export const MAINTAINERS = 'For maintainers'

interface Chapter {
  readonly text: string
  readonly collapsed?: boolean
  readonly link?: string | undefined
  readonly items: { readonly text: string; readonly link: string }[]
}

/**
 * Returns the sidebar: the table of contents in docs/README.md, which readers on GitHub use directly. A heading that folds has a link,
 * because otherwise it would be a button with another button inside.
 */
export function contents(): Chapter[] {
  return readFileSync(README, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const text = section.split('\n', 1)[0] ?? ''
      const items = [...section.matchAll(/^- \[(.+?)\]\((.+?)\.md\)/gm)].map(([, name = '', page = '']) => ({
        text: name.replaceAll('`', ''),
        link: posix.join('/docs', page).replace(/README$/, ''),
      }))
      return { text, items, ...(text === MAINTAINERS && { collapsed: true, link: items[0]?.link }) }
    })
}
