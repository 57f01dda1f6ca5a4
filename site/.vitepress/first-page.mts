import type { MarkdownRenderer } from 'vitepress'

// The first page of the site is the README, with what GitHub cannot show.

/**
 * On the first page, the playground takes the place of the picture that GitHub shows, below the first program. Without scripts, the
 * picture is shown.
 */
export function playgroundForPicture(md: MarkdownRenderer): void {
  md.core.ruler.push('playground-for-picture', ({ tokens, env }) => {
    if ((env as { relativePath: string }).relativePath !== 'index.md') return
    const [picture] = tokens.splice(
      tokens.findIndex(({ content }) => content.includes('demo.svg')),
      1,
    )
    if (!picture) return
    picture.content = `<Playground />\n<div class="without-scripts">${picture.content}</div>\n`
    const program = tokens.findIndex(({ type, info }) => type === 'fence' && info.startsWith('ts'))
    tokens.splice(program + 1, 0, picture)
  })
}

/** On a phone, the bar above names the package, so the heading is hidden there. */
export function headingNamedAbove(md: MarkdownRenderer): void {
  md.core.ruler.push('heading-named-above', ({ tokens, env }) => {
    if ((env as { relativePath: string }).relativePath === 'index.md')
      tokens[0]?.attrJoin('class', 'named-above')
  })
}

/** The sections of the first page that are tabs on the site. */
const SET_UPS = ['TypeORM', 'Prisma', 'NestJS']

/** Puts each section into a slot of `SetUps`, which shows one of them. */
export function setUpsAsTabs(md: MarkdownRenderer): void {
  md.core.ruler.push('set-ups-as-tabs', (state) => {
    if ((state.env as { relativePath: string }).relativePath !== 'index.md') return
    const html = (content: string) => {
      const token = new state.Token('html_block', '', 0)
      token.content = content
      return token
    }
    let isInside = false
    state.tokens = state.tokens.flatMap((token, index, { [index + 1]: title }) => {
      if (token.type !== 'heading_open' || token.tag !== 'h2') return [token]
      const before = isInside ? '</template>' : '<SetUps>'
      const wasInside = isInside
      isInside = SET_UPS.includes(title?.content ?? '')
      if (isInside) return [html(`${before}<template #${title?.content}>\n\n`), token]
      return wasInside ? [html('</template></SetUps>\n'), token] : [token]
    })
  })
}
