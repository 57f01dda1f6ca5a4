import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from '@jest/globals'
import { mutations } from '../../verification/mutations/mutations'
import { read, root } from '../project'

const PAGE = 'docs/maintainers/tests.md'
const files = ['test', 'src/testing']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(test|tsx?|mts)$/.test(file) && !/node_modules|generated|tests-table/.test(file))
const tests = files
  .filter((file) => /(\.test|-cases)\.ts$/.test(file))
  .map((file) => ({ file, text: read(file) }))
/** `UPDATE_TABLES=1 npx jest test/documentation/tests-table` writes what follows. The rules before it are written by hand. */
const BEGIN = '## Options and error codes\n'

/** Objects of options in the reports: interfaces with such a name, and literals of a parameter. */
const OBJECT =
  /^export interface \w+(?:Options|Configuration)\b.*?^}|(?<=[(, ])(?<!readonly )options\??: \{.*?^ *}\)/gms

interface Named {
  readonly name: string
  /** What a test looks like that uses it. */
  readonly use: RegExp
  /** The folders of `test` in which such a test is first looked for: an option's name may mean something else elsewhere. */
  readonly folders: ReadonlySet<string>
}

/** Each option, and each error code. */
function namesAndUses(): Named[] {
  const options = readdirSync(join(root, 'api')).flatMap((file) => {
    const [, folder = 'core'] = /^shedlock-orm\.(.+)\.txt$/.exec(file) ?? []
    return [...read(`api/${file}`).matchAll(OBJECT)].flatMap(([object]) => {
      // What is further to the right is part of the value of an option.
      const [indent = ''] = /(?<=\n) +/.exec(object) ?? []
      return [...object.matchAll(new RegExp(`^${indent}readonly ([a-z]\\w*)\\??:`, 'gim'))].map(
        ([, name = '']) => ({
          name,
          folder,
        }),
      )
    })
  })
  const errors = read('src/core/errors.ts')
  const codes = [...errors.matchAll(/^ {2}\| '([A-Z_]+)'$/gm)].map(([, code = '']) => code)
  expect(options.length).toBeGreaterThan(30)
  expect(codes.length).toBeGreaterThan(5)
  return [
    ...[...new Set(options.map(({ name }) => name))].sort().map((name) => ({
      name,
      use: new RegExp(`\\b${name}\\b(: |, | }|\\()`, 'g'),
      folders: new Set(options.filter((each) => each.name === name).map(({ folder }) => folder)),
    })),
    ...codes.map((code) => ({ name: code, use: new RegExp(`'${code}'`, 'g'), folders: new Set<string>() })),
  ]
}

/** A link to the test that is named after it, or else uses it most often, if possible in the folder of its entry point. */
function linkTo({ name, use, folders }: Named): string {
  const fileName = `/${name.replace(/[A-Z]/g, '-$&').toLowerCase()}.test.ts`
  const isNear = (file: string): boolean => [...folders].some((folder) => file.startsWith(`test/${folder}/`))
  const uses = tests.map(({ file, text }) => {
    const count = [...text.matchAll(use)].length
    if (file.endsWith(fileName)) return { file, count: Infinity }
    return { file, count: isNear(file) ? count * 1_000 : count }
  })
  const most = uses.reduce((one, other) => (other.count > one.count ? other : one))
  return `[${basename(most.file, '.ts')}](../../${most.file})`
}

it('the page names a test of each option and each error code', () => {
  const names = namesAndUses()
  const unused = names.filter(({ use }) => !tests.some(({ text }) => text.search(use) >= 0))
  expect(unused.map(({ name }) => name)).toEqual([])
  if (process.env['UPDATE_TABLES']) {
    const [rules = ''] = read(PAGE).split(BEGIN)
    const byTest = new Map<string, string[]>()
    for (const each of names) {
      const link = linkTo(each)
      byTest.set(link, [...(byTest.get(link) ?? []), `\`${each.name}\``])
    }
    const lines = [...byTest].map(([link, group]) => `- ${link}: ${group.join(', ')}\n`)
    writeFileSync(join(root, PAGE), `${rules}${BEGIN}\n${lines.join('')}`)
  }
  const listed = read(PAGE).matchAll(/^- \[\S+\]\(\.\.\/\.\.\/(\S+)\): (`.+`)$/gm)
  const files = new Map(
    [...listed].flatMap(([, file, list = '']) =>
      [...list.matchAll(/`(\w+)`/g)].map(([, name]) => [name, file] as const),
    ),
  )
  const text = (name: string) => tests.find(({ file }) => file === files.get(name))?.text ?? ''
  expect([...files.keys()].sort()).toEqual(names.map(({ name }) => name).sort())
  expect(names.filter(({ name, use }) => text(name).search(use) < 0).map(({ name }) => name)).toEqual([])
})

it('the page names the tests of each rule, and those that notice its mutants', () => {
  const rules = [...read(PAGE).matchAll(/^- \*\*(\d+)\.\*\* [^:]+: (.+)$/gm)]
  const named = new Map(
    rules.map(([, rule, list = '']) => [
      Number(rule),
      [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    ]),
  )
  expect([...named.keys()]).toEqual(Array.from({ length: 33 }, (_, index) => index + 1))
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
