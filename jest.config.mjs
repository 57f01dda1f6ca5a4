import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(fileURLToPath(import.meta.url))

/** Nest 12 and others are ES modules only. Jest loads those as CommonJS, so they are transformed as well. */
const ES_MODULES_ONLY = ['@nestjs/']

const typescript = (transform = {}) => [
  '@swc/jest',
  {
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript', decorators: true }, transform },
    sourceMaps: 'inline',
  },
]

/** @type {import('jest').Config} */
export default {
  rootDir: root,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  globalSetup: '<rootDir>/test/jest/global-setup.ts',
  globalTeardown: '<rootDir>/test/jest/global-teardown.ts',
  reporters: ['default', '<rootDir>/test/jest/backend-reporter.mjs'],
  testSequencer: '<rootDir>/test/jest/order.mjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // After a build, in a browser, in a terminal, with packages of their own, or minutes long: `npm run test:examples`, `test:page`,
  // `test:terminal`, `test:earlier-prisma`, `check:package`.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/prisma/earlier/',
    '<rootDir>/test/processes/examples/',
    '<rootDir>/test/processes/package/',
    '<rootDir>/test/processes/page/',
    '<rootDir>/test/processes/terminal/',
  ],
  transform: {
    '/test/nestjs/.*\\.ts$': typescript({ legacyDecorator: true }),
    '\\.[cm]?[jt]s$': typescript(),
  },
  transformIgnorePatterns: [`/node_modules/(?!${ES_MODULES_ONLY.join('|')})`],
  // Microtasks are real while time is not.
  fakeTimers: { doNotFake: ['nextTick', 'queueMicrotask'] },
  // What a test spies on is itself again in the next one.
  restoreMocks: true,
  // Ten seconds, unless this file says why a test needs longer.
  setupFilesAfterEnv: ['<rootDir>/test/jest/time-limits.ts'],
  // Most of the time is spent waiting, for leases to end: in several files, and in several tests of one. But if one file has changed, the
  // tests that are close to it do not wait for others.
  maxWorkers: process.argv.includes('--findRelatedTests') ? 2 : 6,
  maxConcurrency: 10,
  // A worker that has run a whole suite needs a second to end, on a busy machine more. One that something keeps alive is still told.
  workerGracefulExitTimeout: 10_000,
}
