import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const root = join(__dirname, '../..')
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
const rowsOf = (page: string): string[][] =>
  read(page)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
const features = rowsOf('docs/maintainers/features.md').map((cells) => ({
  ...{ subject: cells[1] ?? '', proof: cells.at(-2) ?? '' },
}))
const promises = rowsOf('docs/maintainers/promises.md')
  .slice(1)
  .map(([, subject = '', proof = '']) => ({ subject, proof }))
/** The bold words on the pages that make promises, without what the pages do not promise. */
const promised = [
  sectionOf('README.md', '## What it promises\n', 'Its limits:'),
  sectionOf('docs/guarantees.md', '# Guarantees\n', '\nNot promised:'),
  sectionOf('docs/guarantees.md', '## The guard\n', '\n## '),
]
  .flatMap((section) => [...section.matchAll(/\*\*([^*]+)\*\*/g)])
  .map(([, words = '']) => words.replace(/\s+/g, ' ').replace(/[.,:]$/, ''))

const sources = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n')

function sectionOf(page: string, begin: string, end: string): string {
  const text = read(page)
  const from = text.indexOf(begin) + begin.length
  const to = text.indexOf(end, from)
  if (from < begin.length || to < 0) throw new Error(`${page} has no section from ${begin} to ${end}`)
  return text.slice(from, to)
}

function exists(path: string): boolean {
  return ['', '.ts', '.test.ts'].some((ending) =>
    ['', 'test/core/', 'src/testing/', 'test/conformance/'].some((folder) =>
      existsSync(join(root, folder + path + ending)),
    ),
  )
}

describe('docs/maintainers', () => {
  it('has rows', () => {
    expect(features.length).toBeGreaterThan(60)
  })

  it('names a test for each promise, and promises no more', () => {
    expect(promised.length).toBeGreaterThan(10)
    expect(promises.map(({ subject }) => subject).sort()).toEqual([...new Set(promised)].sort())
    expect(promises.filter(({ proof }) => !proof.includes('`'))).toEqual([])
  })

  it.each([...features, ...promises])('names tests that exist: $subject', ({ proof }) => {
    const paths = [...proof.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
    expect(paths.filter((path) => !exists(path))).toEqual([])
    const titles = [...proof.matchAll(/"([^"]+)"/g)].flatMap(([, title = '']) => title.split('…'))
    expect(titles.map((part) => part.trim()).filter((part) => !sources.includes(part))).toEqual([])
  })
})
