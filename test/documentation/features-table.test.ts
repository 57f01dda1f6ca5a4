import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { read, root } from '../project'

/** The first cell of each row and the last, which names the tests. */
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells) => ({ subject: cells[1] ?? '', proof: cells.at(-2) ?? '' }))
const [ofShedLock = '', ofThePages = ''] = read('test/documentation/features.md').split(
  '## Promises and their tests\n',
)
const features = rowsOf(ofShedLock)
const promises = rowsOf(ofThePages).slice(1)

function sectionOf(page: string, begin: string, end: string): string {
  const text = read(page)
  const from = text.indexOf(begin) + begin.length
  const to = text.indexOf(end, from)
  if (from < begin.length || to < 0) throw new Error(`${page} has no section from ${begin} to ${end}`)
  return text.slice(from, to)
}

/** The bold words on the pages that make promises, without what the pages do not promise. */
const promised = [
  sectionOf('README.md', '## What it promises\n', 'What the lock cannot do:'),
  sectionOf('docs/how-a-lock-behaves.md', '## Guarantees\n', '\nNot promised:'),
  sectionOf('docs/how-a-lock-behaves.md', '## The guard\n', '\n## '),
]
  .flatMap((section) => [...section.matchAll(/\*\*([^*]+)\*\*/g)])
  .map(([, words = '']) => words.replace(/\s+/g, ' ').replace(/[.,:]$/, ''))

const sources = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
  .map(read)
  .join('\n')

const exists = (path: string): boolean =>
  ['', '.ts', '.test.ts'].some((ending) =>
    ['', 'test/core/', 'src/testing/', 'test/conformance/'].some((folder) =>
      existsSync(join(root, folder + path + ending)),
    ),
  )

it('features.md names a test for each promise of the pages, and no other', () => {
  expect(promised.length).toBeGreaterThan(10)
  expect(promises.map(({ subject }) => subject).sort()).toEqual([...new Set(promised)].sort())
  expect(promises.filter(({ proof }) => !proof.includes('`'))).toEqual([])
})

it('features.md names tests that exist', () => {
  expect(features.length).toBeGreaterThan(60)
  const proofs = [...features, ...promises].map(({ proof }) => proof).join('\n')
  const paths = [...proofs.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
  expect(paths.filter((path) => !exists(path))).toEqual([])
  const titles = [...proofs.matchAll(/"([^"]+)"/g)].flatMap(([, title = '']) => title.split('…'))
  expect(titles.map((part) => part.trim()).filter((part) => !sources.includes(part))).toEqual([])
})
