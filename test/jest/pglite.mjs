import config from '../../jest.config.mjs'

/** For `npm run test:pglite`: PGlite loads itself by import(), which Jest can only with a flag of Node.js. */
process.env.BACKENDS = 'pglite'
process.env.REQUIRE_BACKENDS = 'pglite'

export default {
  ...config,
  testMatch: ['typeorm', 'prisma'].map((name) => `<rootDir>/test/conformance/${name}.test.ts`),
}
