import config from '../../jest.config.mjs'

/** For `npm run check:package`: all about the package, with what is installed from npm's registry. Prisma 8 and the runtimes look for PostgreSQL themselves. */
export default {
  ...config,
  globalSetup: '<rootDir>/test/processes/package/global-setup.ts',
  globalTeardown: undefined,
  reporters: undefined,
  testMatch: ['<rootDir>/test/processes/package/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 2,
}
