import config from '../../jest.config.mjs'

/** For `npm run test:examples`: these take minutes, and need a build. */
export default {
  ...config,
  roots: ['<rootDir>/test', '<rootDir>/examples'],
  globalSetup: '<rootDir>/test/processes/examples/global-setup.ts',
  reporters: undefined,
  testMatch: ['<rootDir>/test/processes/examples/*.test.ts', '<rootDir>/examples/*/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // For examples that have a package of their own; the others find it by its name.
  moduleNameMapper: { '^shedlock-orm/(.*)$': '<rootDir>/dist/$1' },
}
