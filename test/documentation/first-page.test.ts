import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { EXECUTOR_OPTIONS, LOCK_OPTIONS } from '../../src/core/internal'
import { SQL_LOCK_PROVIDER_OPTIONS } from '../../src/sql/internal'

const root = join(__dirname, '../..')
const read = (page: string): string => readFileSync(join(root, page), 'utf8')

it('the README has at most 1,200 words', () => {
  expect(read('README.md').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_200)
})

it('the README leads to each way to start before its first heading', () => {
  const [beginning = '', ...sections] = read('README.md').split(/^## /m)
  const starts = ['typeorm', 'prisma', 'nestjs', 'node-cron']
  for (const start of starts) expect(beginning).toContain(`](#${start})`)
  expect(sections.map((section) => section.split('\n', 1)[0]?.toLowerCase())).toEqual(
    expect.arrayContaining(starts),
  )
  for (const command of ['npm run demo', 'npm test', 'docs/demo.svg']) expect(beginning).toContain(command)
})

it.each([
  ...Object.keys({ ...LOCK_OPTIONS, ...SQL_LOCK_PROVIDER_OPTIONS, ...EXECUTOR_OPTIONS }),
  'dialect',
  'namedStatements',
])('docs/options.md has %s', (option) => {
  expect(read('docs/options.md')).toMatch(new RegExp(`^\\| .*\`${option}\`.*\\|.*\\|.*\\|$`, 'm'))
})
