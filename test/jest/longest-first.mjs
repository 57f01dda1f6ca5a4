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

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((part) => path.includes(`/test/${part}`))
      return index === -1 ? LONGEST.length : index
    }
    return super.sort(tests).toSorted((one, other) => rank(one) - rank(other))
  }
}
