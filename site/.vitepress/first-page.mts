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
    tokens.splice(tokens.findIndex(({ type }) => type === 'fence') + 1, 0, picture)
  })
}

/** The commands of the first minute. */
const COMMANDS = `npm install shedlock-orm
npx shedlock-orm init # the lock table
npx shedlock-orm web  # who runs what
`

/** Puts the commands above the first program, in place of the README's sentence on them. On a phone, the bar above names the package, so the heading is hidden there. */
export function firstMinute(md: MarkdownRenderer): void {
  md.core.ruler.push('first-minute', ({ tokens, env, Token }) => {
    if ((env as { relativePath: string }).relativePath !== 'index.md') return
    const commands = new Token('fence', 'code', 0)
    Object.assign(commands, { info: 'sh', markup: '```', content: COMMANDS, block: true })
    const program = tokens.findIndex(({ type }) => type === 'fence')
    // The README says there what to install, in one sentence.
    const isSaid = tokens[program - 2]?.content.startsWith('Install it')
    tokens.splice(isSaid ? program - 3 : program, isSaid ? 3 : 0, commands)
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
