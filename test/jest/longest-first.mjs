import { statSync } from 'node:fs'
import TestSequencer from '@jest/test-sequencer'

/** What takes longest, so that the last worker does not begin with it. Jest knows it only after a first run. */
const LONGEST = [
  'conformance/prisma',
  'conformance/typeorm',
  'documentation/documentation',
  'conformance/character-sets',
  'processes/',
  'cli/',
]

/** The files of `--findRelatedTests`, as the parts of their paths below `src`. */
const changed = process.argv
  .map((each) => /^(?:\.\/)?src\/(.*)\.ts$/.exec(each)?.[1].split('/'))
  .filter((parts) => parts !== undefined)

/** How close a test is to a changed file: the words of one name are in the other, or their paths begin alike. */
function closeness(path) {
  const [, own = ''] = /\/test\/(.*)\.test\.ts$/.exec(path) ?? []
  const parts = own.split('/')
  const name = `-${parts.at(-1)}-`
  const isNamed = (other) => name.includes(other) || other.includes(name)
  return Math.max(
    0,
    ...changed.map((file) => {
      const differs = file.findIndex((part, index) => part !== parts[index])
      return (isNamed(`-${file.at(-1)}-`) ? 10 : 0) + (differs === -1 ? file.length : differs)
    }),
  )
}

/** Tests that are close to a changed file come first, and of these the shortest, so that a run begins with a fault. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((part) => path.includes(`/test/${part}`))
      return index === -1 ? LONGEST.length : index
    }
    // Before its first run, the size of a file says most about its duration.
    const length = ({ path, duration = statSync(path).size }) => duration
    return super.sort(tests).toSorted((one, other) => {
      const close = closeness(one.path)
      return (
        closeness(other.path) - close || (close > 0 ? length(one) - length(other) : rank(one) - rank(other))
      )
    })
  }
}
