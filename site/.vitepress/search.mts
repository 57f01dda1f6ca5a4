/** How the search splits text and ranks results. These functions run in the browser, so they use nothing from outside themselves. */
export const searchOptions = {
  options: {
    // Keep an error code as one word.
    tokenize: (text: string) => text.split(/[^\p{L}\p{N}_]+/u),
  },
  searchOptions: {
    boostDocument: (id: string, term: string): number => {
      // Rank the page whose name is the word first.
      const isNamed = term.length > 2 && id.replace(/#.*/, '').toLowerCase().endsWith(`/${term}`)
      // Rank a page that explains an option above the API reference and the maintainers' pages.
      if (/\/(docs\/(api|maintainers)\/|CONTRIBUTING|CHANGELOG|SECURITY)/.test(id)) return isNamed ? 20 : 0.1
      const isOption =
        /^(lockat|defaultlockat|keepalive|untilsucceeded|timelimit|onskip|onerror|namedstatements|lockedby)/
      const isError = /^(table_m|invalid_c|database_e|not_locked|skipped$|lock_lost)/
      if (isOption.test(term)) return id.includes('/docs/options') ? 20 : 1
      if (isError.test(term)) return id.includes('/docs/tasks#errors') ? 20 : 1
      return isNamed ? 10 : 1
    },
  },
}
