import { readFileSync } from 'node:fs'

/** The first paragraph of a page that is neither a badge nor a signature, as plain text. */
export function firstParagraph(file: string | URL): string {
  const text = readFileSync(file, 'utf8').replace(/^```.*?^```$/gms, '')
  const [, paragraph = ''] = /^# .*\n+(?:\[?!\[.*\n+)*((?:[^#\n|<].*\n)+)/m.exec(text) ?? []
  return (
    paragraph
      .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
      .replaceAll(/\*\*|`/g, '')
      // VitePress puts it between quotes as it is.
      .replaceAll('"', "'")
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/:$/, '.')
  )
}
