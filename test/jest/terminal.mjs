import page from './page.mjs'

/** For `npm run test:terminal`: the command line and the demo, as a person sees them. They have databases of their own. */
export default { ...page, testMatch: ['<rootDir>/test/processes/terminal/*.test.ts'] }
