import type { MarkdownRenderer } from 'vitepress'

/** Matches the first line of a program that is one of several. */
const NAME = /^\/\/ ([\w-]+)\.ts\n/

/**
 * Shows programs that follow one another, one for each scheduler, as tabs. GitHub shows them one below the other, because the Markdown
 * has none of VitePress's own marks.
 */
export function schedulersAsTabs(md: MarkdownRenderer): void {
  md.core.ruler.push('schedulers-as-tabs', (state) => {
    const { tokens } = state
    if ((state.env as { relativePath: string }).relativePath !== 'docs/schedulers.md') return
    const nameOf = (index: number): string | undefined =>
      tokens[index]?.type === 'fence' ? NAME.exec(tokens[index].content)?.[1] : undefined
    state.tokens = tokens.flatMap((token, index) => {
      const name = nameOf(index)
      const [isAfterAnother, isBeforeAnother] = [nameOf(index - 1), nameOf(index + 1)].map(Boolean)
      if (name === undefined || !(isAfterAnother || isBeforeAnother)) return [token]
      token.info = `ts [${name}]`
      return [
        ...(isAfterAnother ? [] : [new state.Token('container_code-group_open', 'div', 1)]),
        token,
        ...(isBeforeAnother ? [] : [new state.Token('container_code-group_close', 'div', -1)]),
      ]
    })
  })
}
