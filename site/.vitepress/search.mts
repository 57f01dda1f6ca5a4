/** How the search splits text and ranks results. These functions run in the browser, so they use nothing from outside themselves. */
export const searchOptions = {
  options: {
    // Keep an error code as one word. The title of a page about an exported name has that name once more, with a mark in front that no prefix of a word finds.
    tokenize: (text: string, field?: string) => {
      const ofPage = /^(?:(?:Abstract )?Class|Function|Interface|Type Alias|Variable): (\w+)/.exec(text)
      const name = field === 'title' ? ofPage?.[1] : undefined
      return [...text.split(/[^\p{L}\p{N}_]+/u), ...(name === undefined ? [] : [`=exactly=${name}`])]
    },
  },
  searchOptions: {
    // A single word may be an exported name.
    tokenize: (text: string) => {
      const words = text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '')
      return words.length === 1 ? [...words, ...words.map((word) => `=exactly=${word}`)] : words
    },
    // Somebody may still be typing the last word.
    prefix: (term: string, index: number, terms: string[]) =>
      !term.startsWith('=') && term.length > 2 && (terms.length < 3 || index === terms.length - 1),
    fuzzy: (term: string) => (term.startsWith('=') || term.length < 5 ? false : 0.2),
    // Of a question, the words count that say what it is about.
    boostTerm: (term: string) =>
      /^(a|an|and|are|at|be|by|can|do|does|for|from|how|i|if|in|is|it|its|jobs?|locks?|my|not|of|on|or|runs?|should|the|to|use|using|what|when|which|why|with)$/.test(
        term,
      )
        ? 0.1
        : 1,
    boostDocument: (id: string, term: string): number => {
      if (term.startsWith('=')) return 50
      // Rank whatever explains something above the reference, the maintainers' pages and the changes.
      if (/\/(docs\/(api|maintainers)\/|verification\/|CONTRIBUTING|CHANGELOG|SECURITY|CODE_OF)/.test(id))
        return 0.02
      const isOption =
        /^(lockat|defaultlockat|keepalive|untilsucceeded|timelimit|onskip|onerror|namedstatements|lockedby)/
      const isError = /^(table_m|invalid_c|database_e|not_locked|skipped$|lock_lost)/
      if (isOption.test(term)) return id.includes('/docs/options#a') ? 4 : 1
      if (isError.test(term)) return id.includes('/docs/options#errors') ? 4 : 1
      return 1
    },
  },
}
