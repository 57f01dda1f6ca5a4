import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** All about the package. What is in `registry` installs from npm's registry, so `npm test` leaves that out. */
export default defineConfig({
  test: {
    root: join(__dirname, '../..'),
    include: ['test/package/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 2,
  },
})
