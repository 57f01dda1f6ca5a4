import { readFileSync } from 'node:fs'

/** Returns a page's first paragraph as plain text, skipping badges and signatures. */
export function firstParagraph(file: string | URL): string {
  const text = readFileSync(file, 'utf8').replace(/^```.*?^```$/gms, '')
  const [, paragraph = ''] = /^# .*\n+(?:\[?!\[.*\n+)*((?:[^#\n|<].*\n)+)/m.exec(text) ?? []
  return (
    paragraph
      .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
      .replaceAll(/\*\*|`/g, '')
      // VitePress puts the text between double quotes without escaping it.
      .replaceAll('"', "'")
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/:$/, '.')
  )
}
