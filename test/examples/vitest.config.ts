import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** These take minutes, and need a build; `npm test` leaves them out. */
export default defineConfig({
  test: {
    root: join(__dirname, '../..'),
    globalSetup: ['test/global-setup.ts', 'test/examples/compile-examples.ts'],
    include: ['test/examples/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
})
