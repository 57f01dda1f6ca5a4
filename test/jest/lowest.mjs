import config from '../../jest.config.mjs'

/** For `npm run test:lowest`: all that is about TypeORM, with the oldest one that the library allows. */
export default {
  ...config,
  testMatch: ['conformance/typeorm', 'typeorm/*'].map((name) => `<rootDir>/test/${name}.test.ts`),
  moduleNameMapper: { '^typeorm$': '<rootDir>/test/typeorm/lowest/node_modules/typeorm' },
}
