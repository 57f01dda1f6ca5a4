import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations, SUITE } from '../../verification/mutations/mutations'
import { mutants } from '../../verification/simulation/mutants'
import { BREAKS } from '../../verification/workers/breaks'
import { read, root } from '../project'

const PAGE = 'docs/maintainers/tests.md'
const files = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(test|tsx?|mts)$/.test(file) && !/node_modules|generated|tests-table/.test(file))
it('the page names the tests of each rule, and those that notice its mutants', () => {
  const rules = [...read(PAGE).matchAll(/^- \*\*(\d+)\.\*\* [^:]+: (.+)$/gm)]
  const named = new Map(
    rules.map(([, rule, list = '']) => [
      Number(rule),
      [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    ]),
  )
  expect([...named.keys()]).toEqual([...named.keys()].map((_, index) => index + 1))
  // The test of rule 18 installs the packed package.
  expect([...named.keys()].filter((each) => !mutations.some(({ rule }) => rule === each))).toEqual([18])
  const known = new Set(files.map((file) => file.replace(/^.*\//, '').replace(/(\.test)?\.ts$/, '')))
  expect([...named.values()].flat().filter((name) => !known.has(name ?? ''))).toEqual([])
  const missing = mutations.filter(
    ({ rule, tests: noticing = SUITE }) =>
      // The conformance suite runs all of its cases.
      !noticing.some(
        (file) =>
          file.startsWith('test/conformance/') || named.get(rule)?.some((name) => file.includes(`/${name}.`)),
      ),
  )
  expect(missing.map(({ rule, breaks }) => `${rule}: ${breaks}`)).toEqual([])
})

it('each way to break a rule is still possible in its file', () => {
  const all = [...new Set([...mutations, ...mutants, ...Object.values(BREAKS).flat()])]
  const gone = all.filter(({ file, find }) => read(file).split(find).length !== 2)
  expect(gone.map(({ breaks, file, find }) => `${breaks}: ${file} does not have once ${find}`)).toEqual([])
})
