import config, { root } from '../../jest.config.mjs'

const { globalSetup: _setup, globalTeardown: _teardown, testSequencer: _sequencer, ...rest } = config

/** The tests of one group of `groups.ts`, as Stryker runs them: for each mutant again. */
export default {
  ...rest,
  testMatch: JSON.parse(process.env.MUTANT_TESTS).map((path) => `<rootDir>/${path}`),
  // Which tests cover a mutant is known only if they do not run at the same time.
  setupFilesAfterEnv: ['<rootDir>/verification/mutants/one-at-a-time.ts'],
  testEnvironment: `${root}/verification/mutants/environment.cjs`,
  runner: '<rootDir>/verification/mutants/runner.cjs',
  // Under a mutant that hangs, the test fails and cleans up, before Stryker ends the process.
  testTimeout: 20_000,
}
