import config from '../../jest.config.mjs'

/** For `npm run test:earlier-prisma`: the tests of Prisma with an earlier version of it, `PRISMA=6.19`. */
const TESTS = [
  'conformance/prisma*',
  'prisma/{errors,extensions,guard,prisma-table,read-only-connection,sqlite-transactions}',
  'prisma/earlier/*',
]

export default {
  ...config,
  globalSetup: '<rootDir>/test/prisma/earlier/global-setup.ts',
  testPathIgnorePatterns: ['/node_modules/'],
  // The engine's timers of transactions outlive the tests.
  forceExit: true,
  testMatch: TESTS.map((name) => `<rootDir>/test/${name}.test.ts`),
  transformIgnorePatterns: [...config.transformIgnorePatterns, '/earlier/.*/generated/'],
  moduleNameMapper: {
    '(.*)/adapters$': '$1/earlier/adapters',
    // One copy of SQLite in a process.
    '^better-sqlite3$': '<rootDir>/node_modules/better-sqlite3',
  },
}
