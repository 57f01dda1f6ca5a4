import config from '../../jest.config.mjs'

/** For `npm run test:examples`: these take minutes, and need a build. */
export default {
  ...config,
  globalSetup: '<rootDir>/test/processes/examples/global-setup.ts',
  reporters: undefined,
  testMatch: ['<rootDir>/test/processes/examples/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 300_000,
}
