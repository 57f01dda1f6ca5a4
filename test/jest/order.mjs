import { readdirSync, readFileSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import TestSequencer from '@jest/test-sequencer'
import { root } from '../../jest.config.mjs'

/** What takes longest, so that the last worker does not begin with it. Jest knows it only after a first run. */
const LONGEST = [
  'conformance/prisma',
  'conformance/typeorm',
  'documentation/documentation',
  'conformance/character-sets',
  'processes/',
  'cli/',
]

/** Reads all files of `src`, and imports few of them. */
const ARCHITECTURE = resolve(root, 'test/architecture.test.ts')
/** Shows every change of the SQL, in a moment. */
const GOLDEN = resolve(root, 'test/sql/golden.test.ts')

/** The files of `--findRelatedTests`, below `src` and without their extension. */
const changed = process.argv
  .map((each) => /^src\/(.*)\.ts$/.exec(relative(root, resolve(each)).replaceAll('\\', '/'))?.[1])
  .filter((file) => file !== undefined)

const source = (file) => readFileSync(resolve(root, 'src', `${file}.ts`), 'utf8')
/** The files that import a changed one: their tests may be its own. */
const importing =
  changed.length === 0
    ? []
    : readdirSync(resolve(root, 'src'), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .map((path) => path.replaceAll('\\', '/').slice(0, -'.ts'.length))
        .filter((path) => changed.some((file) => source(path).includes(`/${file.split('/').at(-1)}'`)))

/**
 * How close a test is to a changed file: the words of one name are in the other, the test imports the file, the file has a function or a
 * command of its name, or their paths share words.
 */
function closeness(path) {
  if (path === ARCHITECTURE || (path === GOLDEN && changed.some((file) => file.startsWith('sql/')))) return 10
  const test = relative(resolve(root, 'test'), path).replace(/\.test\.ts$/, '')
  const words = new Set(test.split(/\W/))
  const nameOf = (file) => `-${file.split('/').at(-1)}-`
  const name = nameOf(test)
  // wrap.test.ts is that of wrapped-task.ts, and slot.test.ts that of slots.ts.
  const isNamed = (file) => name.includes(nameOf(file)) || nameOf(file).includes(name.slice(0, -1))
  const shared = (file) => file.split(/\W/).filter((word) => words.has(word)).length
  // pause.test.ts is one of those of operations.ts, which has pause(), and pause-and-check.test.ts of operate-commands.ts.
  const commands = name.slice(1, -1).replaceAll('-', '|')
  const called = new RegExp(`\\b${name.replaceAll('-', '')}[(<]|\\.command\\('(${commands})'\\)`, 'i')
  const text = readFileSync(path, 'utf8')
  const points = (file) =>
    isNamed(file) ? 10 : text.includes(`/src/${file}'`) ? 6 : called.test(source(file)) ? 3 : 0
  return Math.max(
    0,
    ...changed.map((file) => shared(file) + points(file)),
    ...importing.map((file) => (isNamed(file) ? 5 : 0)),
  )
}

/** Tests of a changed file: the closest first, and then the shortest, so that a run begins with a fault. */
export default class Order extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((part) => path.includes(`/test/${part}`))
      return index === -1 ? LONGEST.length : index
    }
    const [first] = tests
    if (first && changed.length > 0 && !tests.some(({ path }) => path === ARCHITECTURE))
      tests = [...tests, { context: first.context, path: ARCHITECTURE }]
    // Before its first run, the size of a file says most about its duration.
    const length = ({ path, duration = statSync(path).size }) => duration
    return super.sort(tests).toSorted((one, other) => {
      if (changed.length === 0) return rank(one) - rank(other)
      return (
        closeness(other.path) - closeness(one.path) || rank(other) - rank(one) || length(one) - length(other)
      )
    })
  }
}
