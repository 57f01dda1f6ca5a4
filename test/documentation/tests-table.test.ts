import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations } from '../../scripts/mutations'

// Where each option and each error code is tested: the second half of docs/maintainers/tests.md, which
// `UPDATE_TABLES=1 npx jest test/documentation/tests-table` writes. The first half, the rules, is written by hand. A file that the page
// names must still mention the option.

const root = join(__dirname, '../..')
const page = join(root, 'docs/maintainers/tests.md')
const BEGIN = '## Options\n'
/** How many files to name for each. */
const MOST = 2

const files = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(test|tsx?|mts)$/.test(file) && !/node_modules|generated|tests-table/.test(file))
const tests = files
  .filter((file) => /(\.test|-cases)\.ts$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

/** The files that mention a name most often; before them those that have it in their names. */
function filesOf(mention: RegExp, fileName = ''): string[] {
  return tests
    .map(({ file, text }) => ({ file, mentions: [...text.matchAll(mention)].length }))
    .filter(({ mentions }) => mentions > 0)
    .map(({ file, mentions }) => ({
      file,
      mentions: mentions + (fileName && file.includes(fileName) ? 1_000 : 0),
    }))
    .toSorted((one, other) => other.mentions - one.mentions || one.file.localeCompare(other.file))
    .map(({ file }) => file)
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const link = (file: string): string =>
  `[${file.replace(/^(test|src)\//, '').replace(/\.(test\.)?ts$/, '')}](../../${file})`
const list = (found: readonly (readonly [string, readonly string[]])[]): string =>
  found.map(([name, inFiles]) => `- \`${name}\`: ${inFiles.slice(0, MOST).map(link).join(', ')}\n`).join('')

const reports = readdirSync(join(root, 'api')).map((file) => readFileSync(join(root, 'api', file), 'utf8'))
/** Objects of options in the reports: interfaces with such a name, and literals of a parameter. */
const OBJECT =
  /^export interface \w+(?:Options|Configuration)\b.*?^}|(?<=[(, ])(?<!readonly )options\??: \{.*?^ *}\)/gms
const options = [
  ...new Set(
    reports
      .flatMap((report) => [...report.matchAll(OBJECT)])
      .flatMap(([object]) => {
        // What is further to the right is part of the value of an option.
        const [indent = ''] = /(?<=\n) +/.exec(object) ?? []
        return [...object.matchAll(new RegExp(`^${indent}readonly ([a-z]\\w*)\\??:`, 'gim'))]
      })
      .map(([, name = '']) => name),
  ),
]
  .toSorted((one, other) => one.localeCompare(other))
  .map((name) => [name, filesOf(new RegExp(`\\b${name}\\b(: |, | }|\\()`, 'g'), kebab(name))] as const)
const codes = [
  ...readFileSync(join(root, 'src/core/errors.ts'), 'utf8').matchAll(/^ {2}\| '([A-Z_]+)'$/gm),
].map(([, code = '']) => [code, filesOf(new RegExp(`'${code}'`, 'g'))] as const)

it('each option and each error code has a test', () => {
  expect(codes.length).toBeGreaterThan(5)
  expect([...options, ...codes].filter(([, found]) => found.length === 0).map(([name]) => name)).toEqual([])
})

it('the page names the tests of options and error codes', () => {
  if (process.env['UPDATE_TABLES']) {
    const [rules = ''] = readFileSync(page, 'utf8').split(BEGIN)
    writeFileSync(page, `${rules}${BEGIN}\n${list(options)}\n## Error codes\n\n${list(codes)}`)
  }
  const text = readFileSync(page, 'utf8')
  const mentions = new Map([...options, ...codes].map(([name, found]) => [name, found.map(link)]))
  const listed = [...text.matchAll(/^- `(\w+)`: (.+)$/gm)].map(
    ([, name = '', links = '']) => [name, links.split(', ')] as const,
  )
  expect(listed.map(([name]) => name)).toEqual([...mentions.keys()])
  expect(
    listed.flatMap(([name, links]) => links.filter((one) => !mentions.get(name)?.includes(one))),
  ).toEqual([])
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
