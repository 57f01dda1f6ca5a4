import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const root = join(__dirname, '../..')
const rows = readFileSync(join(root, 'docs', 'maintainers', 'features.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map((cells) => ({ subject: cells[1] ?? '', proof: cells.at(-2) ?? '' }))

const sources = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n')

function exists(path: string): boolean {
  return ['', '.ts', '.test.ts'].some((ending) =>
    ['', 'test/core/', 'src/testing/'].some((folder) => existsSync(join(root, folder + path + ending))),
  )
}

describe('docs/maintainers/features.md', () => {
  it('has rows', () => {
    expect(rows.length).toBeGreaterThan(60)
  })

  it.each(rows)('names tests that exist: $subject', ({ proof }) => {
    const paths = [...proof.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
    expect(paths.filter((path) => !exists(path))).toEqual([])
    const titles = [...proof.matchAll(/"([^"]+)"/g)].flatMap(([, title = '']) => title.split('…'))
    expect(titles.map((part) => part.trim()).filter((part) => !sources.includes(part))).toEqual([])
  })
})
