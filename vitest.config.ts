import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'

/** `--mode quick` is for `npm run check`: what needs no server and no minute. */
const QUICK_BACKENDS = 'sqlite'
const SLOW = [
  ...['package/*', 'documentation', 'typeorm-projects', 'processes/processes', 'failures/every-step'],
  ...['conformance/prisma', 'conformance/migrated-table', 'cli/*'],
].map((name) => `test/${name}.test.ts`)

/** `--mode lowest` is for `npm run test:lowest`: the oldest TypeORM that the library allows. */
const LOWEST_TYPEORM = join(__dirname, 'test/typeorm-0.3.20/node_modules/typeorm')
const WITH_TYPEORM = ['conformance/typeorm', 'typeorm/*', 'guard/*'].map((name) => `test/${name}.test.ts`)

export default defineConfig(({ mode }) => {
  const quick = mode === 'quick'
  const lowest = mode === 'lowest'
  if (quick) process.env['BACKENDS'] = QUICK_BACKENDS
  return {
    test: {
      globalSetup: ['test/global-setup.ts', 'test/prisma/generate-clients.ts'],
      include: lowest ? WITH_TYPEORM : ['test/**/*.test.ts'],
      alias: lowest ? { typeorm: LOWEST_TYPEORM } : {},
      // The examples are minutes long, and after a build: `npm run test:examples`.
      // test/package/registry installs from npm's registry: `npm run check:package`.
      exclude: [
        ...configDefaults.exclude,
        ...['test/examples/**', 'test/package/registry/**'],
        ...(quick ? SLOW : []),
      ],
      // Some files are about servers alone, and none may answer.
      passWithNoTests: true,
      // Against hanging; how fast the machine is must not matter. Nor to what is awaited: a second is vitest's own limit.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 30_000 } },
      // Most of the time is spent waiting, for leases to end.
      maxWorkers: 4,
    },
  }
})
