import { expect, it } from '@jest/globals'
import { EXECUTOR_OPTIONS, LOCK_OPTIONS } from '../../src/core/internal'
import { SQL_LOCK_PROVIDER_OPTIONS } from '../../src/sql/internal'
import { read } from '../project'

it('the README has at most 1,200 words', () => {
  expect(read('README.md').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_200)
})

it.each([
  ...Object.keys({ ...LOCK_OPTIONS, ...SQL_LOCK_PROVIDER_OPTIONS, ...EXECUTOR_OPTIONS }),
  'dialect',
  'namedStatements',
])('docs/options.md has %s', (option) => {
  expect(read('docs/options.md')).toMatch(new RegExp(`^- \\*\\*.*\`${option}\`.*\\*\\*.*: `, 'm'))
})
