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
  .map(([, page = '', promise = '', proof = '']) => ({ page, promise, subject: promise, proof }))

const sources = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n')

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
    expect(promises.length).toBeGreaterThan(40)
  })

  it.each(promises)('promises what $page says: $promise', ({ page, promise }) => {
    const words = (text: string): string => text.replaceAll('**', '').replace(/\s+/g, ' ')
    expect(words(read(page === 'README' ? 'README.md' : page))).toContain(words(promise))
  })

  it.each([...features, ...promises])('names tests that exist: $subject', ({ proof }) => {
    const paths = [...proof.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
    expect(paths.filter((path) => !exists(path))).toEqual([])
    const titles = [...proof.matchAll(/"([^"]+)"/g)].flatMap(([, title = '']) => title.split('…'))
    expect(titles.map((part) => part.trim()).filter((part) => !sources.includes(part))).toEqual([])
  })
})
