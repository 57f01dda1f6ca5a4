import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SiteConfig } from 'vitepress'
import { apiPages } from './api-sidebar.mts'
import { contents } from './contents.mts'
import { firstParagraph } from './first-paragraph.mts'
import { absolute } from './site-url.mts'

/** Writes each page as Markdown beside its HTML, and llms.txt, which lists them for language models (https://llmstxt.org). */
export function writeForLanguageModels({ srcDir, outDir, pages, rewrites }: SiteConfig): void {
  for (const source of pages) {
    const file = join(outDir, rewrites.map[source] ?? source)
    mkdirSync(dirname(file), { recursive: true })
    const text = readFileSync(join(srcDir, source), 'utf8')
    writeFileSync(file, text.replace(/(\]\([^):]*)README\.md/g, '$1index.md'))
  }
  writeFileSync(join(outDir, 'llms.txt'), llmsTxt(srcDir))
}

/** Lists each page of the contents with its first paragraph. */
function llmsTxt(srcDir: string): string {
  const line = (name: string, link: string, answer = ''): string =>
    `- [${name}](${absolute(link.replace(/\/$/, '/index'))}.md)${answer === '' ? '' : `: ${answer}`}`
  const answerOf = (link: string): string =>
    firstParagraph(join(srcDir, `${link.replace(/\/$/, '/README')}.md`))
  return [
    ...['# shedlock-orm\n', `> ${answerOf('/')}\n`],
    ...contents().flatMap(({ text, items }) => [
      `## ${text}\n`,
      ...items.map((item) => line(item.text, item.link, answerOf(item.link))),
      '',
    ]),
    ...['## API\n', ...apiPages().map(({ name, link }) => line(name, link)), ''],
  ].join('\n')
}
