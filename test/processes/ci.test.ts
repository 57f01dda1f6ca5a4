import { expect, it } from '@jest/globals'
import { read } from '../project'

/** What CI does not start by its name, and why. */
const EXCEPT: Readonly<Record<string, string>> = {
  build: 'npm ci starts it',
  prepare: 'npm ci starts it',
  format: 'changes files; check tells whether it would',
  generate: 'changes files; check and the tests tell whether it would',
  api: 'part of generate',
  golden: 'part of generate',
  migrations: 'part of generate',
  'works-with': 'part of generate',
  'docs:dev': 'goes on until somebody stops it',
  demo: 'test/demo starts it',
  'before-release': 'fails until somebody has prepared a release; before-release.test.ts starts it',
}

it('CI starts each command of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const ci = read('.ci/run')
  const isStarted = (name: string): boolean =>
    new RegExp(`(run|npm) (--[\\w-]+ )*${name}(?![\\w:-])`).test(ci)
  // Steps of check, and what npm runs before another command.
  const others = Object.keys(scripts).filter((name) => !/^(check:|pre)/.test(name) || name === 'prepare')
  expect(others.filter((name) => !isStarted(name)).sort()).toEqual(Object.keys(EXCEPT).sort())
})
