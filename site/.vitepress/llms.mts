import { readFileSync } from 'node:fs'
import { apiPages } from '../api-pages.mjs'
import { contents } from './contents.mts'

/** The site's contents for language models (https://llmstxt.org): each page with the paragraph that it begins with. */
export function llmsTxt(base: string): string {
  const line = (name: string, link: string, answer = ''): string =>
    `- [${name}](${base}${link.slice(1)})${answer === '' ? '' : `: ${answer}`}`
  const chapters = contents().map(({ text, items }) => [
    `## ${text}\n`,
    ...items.map(({ text, link }) => line(text, link, answerOf(link))),
  ])
  return [
    ...['# shedlock-orm\n', `> ${answerOf('/')}\n`],
    ...chapters.flatMap((lines) => [...lines, '']),
    ...['## API\n', ...apiPages.map(({ name, page }) => line(name, page)), ''],
  ].join('\n')
}

/** The first paragraph of a page that is no badge, as plain text. */
function answerOf(link: string): string {
  const file = new URL(`../..${link === '/' ? '/README' : link}.md`, import.meta.url)
  const [, paragraph = ''] = /^# .*\n+(?:\[!\[.*\n+)*((?:[^#\n].*\n)+)/.exec(readFileSync(file, 'utf8')) ?? []
  return paragraph
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/:$/, '.')
}
