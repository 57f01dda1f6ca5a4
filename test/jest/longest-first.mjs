import { basename } from 'node:path'
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

/** The files of `--findRelatedTests`. Their own tests run before those that only import them. */
const own = process.argv
  .filter((each) => /^(\.\/)?src\/.*\.ts$/.test(each))
  .map((file) => `/${basename(file, '.ts')}.test.ts`)

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      if (own.some((name) => path.endsWith(name))) return -1
      const index = LONGEST.findIndex((part) => path.includes(`/test/${part}`))
      return index === -1 ? LONGEST.length : index
    }
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other))
  }
}
