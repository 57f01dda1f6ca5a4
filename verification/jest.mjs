import config from '../jest.config.mjs'

/** For `npm run test:verification`: the referee, the simulation and the other harnesses, each for a moment. */
export default {
  ...config,
  roots: ['<rootDir>/verification'],
  testMatch: ['<rootDir>/verification/**/*.test.ts'],
}
