import config from '../../jest.config.mjs'

/** For `npm run check`: what needs no server and no minute. */
process.env.BACKENDS = 'sqlite'

const SLOW = [...['processes/', 'documentation/documentation', 'cli/'], 'conformance/prisma']

export default {
  ...config,
  testPathIgnorePatterns: [...config.testPathIgnorePatterns, `<rootDir>/test/(${SLOW.join('|')})`],
}
