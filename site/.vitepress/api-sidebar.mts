import { readFileSync } from 'node:fs'

/** An entry as typedoc-plugin-markdown writes it. */
interface Entry {
  readonly title: string
  readonly path?: string
  readonly children?: readonly Entry[]
}

interface Item {
  readonly text: string
  readonly link?: string
  readonly collapsed?: boolean
  readonly items?: Item[]
}

const NAVIGATION = new URL('../../docs/api/navigation.json', import.meta.url)

/** The entry points, each with its members. */
export function apiSidebar(): Item[] {
  return entryPoints().map((entry, index) => ({ ...item(entry), collapsed: index > 0 }))
}

/** Each entry point's name and page. */
export function apiPages(): { name: string; link: string }[] {
  return entryPoints().map(({ title, path = '' }) => ({ name: title, link: linkOf(path) }))
}

function entryPoints(): Entry[] {
  return JSON.parse(readFileSync(NAVIGATION, 'utf8')) as Entry[]
}

function item({ title, path, children }: Entry): Item {
  return {
    text: title,
    ...(path !== undefined && { link: linkOf(path) }),
    ...(children && { items: children.map(item) }),
  }
}

function linkOf(path: string): string {
  return `/docs/api/${path.replace(/(index)?\.md$/, '')}`
}
