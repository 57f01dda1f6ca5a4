import config from '../../jest.config.mjs'

/** For `npm run test:page`: the page in a browser, and in web frameworks. It has a database of its own. */
export default {
  ...config,
  globalSetup: undefined,
  globalTeardown: undefined,
  reporters: undefined,
  testMatch: ['<rootDir>/test/processes/page/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
}
