import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

const README = new URL('../../docs/README.md', import.meta.url)

interface Chapter {
  readonly text: string
  readonly collapsed: boolean
  readonly items: { readonly text: string; readonly link: string }[]
}

/** The sidebar: the table of contents that docs/README.md is for those who read on GitHub. */
export function contents(): Chapter[] {
  return readFileSync(README, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split('\n', 1)[0] ?? '',
      collapsed: section.startsWith('For maintainers'),
      items: [...section.matchAll(/^- \[(.+?)\]\((.+?)\.md\)/gm)].map(([, text = '', page = '']) => ({
        text: text.replaceAll('`', ''),
        link: posix.join('/docs', page).replace(/README$/, ''),
      })),
    }))
}
