import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations } from '../../scripts/mutations'

const root = join(__dirname, '../..')
const page = join(root, 'docs/maintainers/tests.md')
const files = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(test|tsx?|mts)$/.test(file) && !/node_modules|generated|tests-table/.test(file))
const tests = files
  .filter((file) => /(\.test|-cases)\.ts$/.test(file))
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n')

/** Objects of options in the reports: interfaces with such a name, and literals of a parameter. */
const OBJECT =
  /^export interface \w+(?:Options|Configuration)\b.*?^}|(?<=[(, ])(?<!readonly )options\??: \{.*?^ *}\)/gms

it('each option and each error code is named in a test', () => {
  const options = readdirSync(join(root, 'api'))
    .flatMap((file) => [...readFileSync(join(root, 'api', file), 'utf8').matchAll(OBJECT)])
    .flatMap(([object]) => {
      // What is further to the right is part of the value of an option.
      const [indent = ''] = /(?<=\n) +/.exec(object) ?? []
      return [...object.matchAll(new RegExp(`^${indent}readonly ([a-z]\\w*)\\??:`, 'gim'))]
    })
    .map(([, name = '']) => name)
  const errors = readFileSync(join(root, 'src/core/errors.ts'), 'utf8')
  const codes = [...errors.matchAll(/^ {2}\| ('[A-Z_]+')$/gm)].map(([, code = '']) => code)
  expect(options.length).toBeGreaterThan(30)
  expect(codes.length).toBeGreaterThan(5)
  const untested = options.filter((name) => !new RegExp(`\\b${name}\\b(: |, | }|\\()`).test(tests))
  expect([...untested, ...codes.filter((code) => !tests.includes(code))]).toEqual([])
})

it('the page names the tests of each rule, and those that notice its mutants', () => {
  const rules = [...readFileSync(page, 'utf8').matchAll(/^- \*\*(\d+)\.\*\* [^:]+: (.+)$/gm)]
  const named = new Map(
    rules.map(([, rule, list = '']) => [
      Number(rule),
      [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    ]),
  )
  expect([...named.keys()]).toEqual(Array.from({ length: 28 }, (_, index) => index + 1))
  const known = new Set(files.map((file) => file.replace(/^.*\//, '').replace(/(\.test)?\.ts$/, '')))
  expect([...named.values()].flat().filter((name) => !known.has(name ?? ''))).toEqual([])
  const missing = mutations.filter(
    ({ rule, tests: noticing }) =>
      // The conformance suite runs all of its cases.
      !noticing.some(
        (file) =>
          file.startsWith('test/conformance/') || named.get(rule)?.some((name) => file.includes(`/${name}.`)),
      ),
  )
  expect(missing.map(({ rule, breaks }) => `${rule}: ${breaks}`)).toEqual([])
})
