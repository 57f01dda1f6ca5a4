import { expect, it } from '@jest/globals'
import { ExitCode } from '../../src/cli/command-error'
import { TASK_OPTIONS } from '../../src/core/configuration'
import { EXECUTOR_OPTIONS } from '../../src/core/locking-task-executor'
import { MODULE_OPTIONS } from '../../src/nestjs/shed-lock-module-options'
import { SQL_LOCK_PROVIDER_OPTIONS } from '../../src/sql/sql-lock-provider'
import { read } from '../project'
import { documents } from './documents'

it('the README has at most 1,200 words', () => {
  expect(read('README.md').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_200)
})

it('the pages of docs have at most 24,000 words', () => {
  const pages = documents().filter((file) => file.startsWith('docs/'))
  expect(pages.map(read).join('\n').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(24_000)
})

it('docs/options.md has a line for each option, and docs/nestjs.md names those of the module', () => {
  const page = read('docs/options.md')
  const ofSeveral = Object.keys({ ...TASK_OPTIONS, ...SQL_LOCK_PROVIDER_OPTIONS, ...EXECUTOR_OPTIONS })
  const options = [...ofSeveral, 'onError', 'dialect', 'namedStatements']
  const hasLine = (option: string): boolean =>
    new RegExp(`^- \\*\\*.*\`${option}\`.*\\*\\*.*: `, 'm').test(page)
  expect(options.filter((option) => !hasLine(option))).toEqual([])
  const ofNest = read('docs/nestjs.md')
  const missing = Object.keys(MODULE_OPTIONS).filter((option) => !ofNest.includes(`\`${option}`))
  expect(missing).toEqual([])
})

// As in shells, 130 means that Ctrl-C ended it.
it.each(Object.entries(ExitCode).filter(([name]) => name !== 'interrupted'))(
  'docs/cli.md has the exit status for %s, %d',
  (_, status) => {
    expect(read('docs/cli.md')).toMatch(new RegExp(`\\b${status} (if|for|without)\\b`))
  },
)
