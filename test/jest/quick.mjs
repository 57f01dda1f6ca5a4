import config from '../../jest.config.mjs'

/** For `npm run check`: what needs no server and no minute. */
process.env.BACKENDS = 'sqlite'

const SLOW = [
  ...['processes/(?!chaos)', 'documentation/documentation', 'cli/'],
  ...['conformance/prisma', 'conformance/migrated-table'],
]

export default {
  ...config,
  testPathIgnorePatterns: [...config.testPathIgnorePatterns, `<rootDir>/test/(${SLOW.join('|')})`],
}
