import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { MUTANT_FILES, MUTANT_REPORT, MUTANT_RESULTS } = process.env

/** For `main.ts`, which sets these variables. */
export default {
  mutate: JSON.parse(MUTANT_FILES),
  testRunner: 'jest',
  // The tests of a group are chosen by hand: those that Jest finds related to a file at the heart of the library are all.
  jest: { configFile: 'verification/mutants/jest.mjs', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  incremental: true,
  incrementalFile: MUTANT_RESULTS,
  // The programs of the documentation are in temporary folders, which may vanish while they are copied.
  ignorePatterns: ['.programs-*', '/bench', '/demo', '/dist', '/examples', '/site'],
  reporters: ['progress-append-only', 'json', 'clear-text'],
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: false },
  jsonReporter: { fileName: MUTANT_REPORT },
  // Tests wait for the clock of one database.
  concurrency: 1,
  // For a mutant that blocks the process: under all others, Jest ends a test that hangs.
  timeoutMS: 60_000,
  // The types are checked by `npm run check`.
  disableTypeChecks: false,
  tempDirName: join(tmpdir(), 'shedlock-mutants'),
}
