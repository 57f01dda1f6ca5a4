import config from '../../jest.config.mjs'

/** For `npm run test:lowest`: all that is about TypeORM, with the oldest one that the library allows. */
export default {
  ...config,
  testMatch: ['conformance/typeorm', 'typeorm/*'].map((name) => `<rootDir>/test/${name}.test.ts`),
  // They have versions of their own.
  testPathIgnorePatterns: ['<rootDir>/test/typeorm/(same-)?table'],
  moduleNameMapper: { '^typeorm$': '<rootDir>/test/typeorm/lowest/node_modules/typeorm' },
}
