import page from './page.mjs'

/** For `npm run test:site`: what `npm run docs` has built, in a browser. */
export default { ...page, testMatch: ['<rootDir>/test/processes/page/site/*.test.ts'] }
