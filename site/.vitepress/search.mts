/** How the search divides texts, and what it shows first. These functions run in the browser, so they refer to nothing outside of them. */
export const searchOptions = {
  options: {
    // An error code is one word.
    tokenize: (text: string) => text.split(/[^\p{L}\p{N}_]+/u),
  },
  searchOptions: {
    boostDocument: (id: string, term: string): number => {
      // A page that explains an option comes before the interfaces that have it, and the maintainers' pages.
      if (/\/docs\/(api|maintainers)\//.test(id)) return 0.1
      const isOption =
        /^(lockat|defaultlockat|keepalive|untilsucceeded|timelimit|onnotacquired|onerror|namedstatements|lockedby)/
      const isError = /^(table_m|invalid_c|database_e|not_locked|not_acquired|lock_lost)/
      if (isOption.test(term)) return id.includes('/docs/options') ? 20 : 1
      if (isError.test(term)) return id.includes('/docs/tasks#errors') ? 20 : 1
      // The page that has the word for its name.
      return term.length > 3 && id.replace(/#.*/, '').endsWith(`/${term}`) ? 10 : 1
    },
  },
}
