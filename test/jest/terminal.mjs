import config from '../../jest.config.mjs'

/** For `npm run test:terminal`: the command line and the demo, as a person sees them. They have databases of their own. */
export default {
  ...config,
  globalSetup: undefined,
  globalTeardown: undefined,
  reporters: undefined,
  testMatch: ['<rootDir>/test/processes/terminal/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
}
