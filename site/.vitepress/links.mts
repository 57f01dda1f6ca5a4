import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MarkdownRenderer } from 'vitepress'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
/** Where the build knows it. */
export const repository = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`

/**
 * What the pages link to in the repository, such as tests and examples, is no page of the site: such a link goes to
 * GitHub, or, in a build that knows no repository, becomes plain text.
 */
export function linksOutOfTheSite(md: MarkdownRenderer): void {
  md.core.ruler.push('links-out-of-the-site', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let leavesOut = false
      for (const token of children ?? []) {
        if (token.type === 'link_close' && leavesOut) {
          token.tag = 'span'
          leavesOut = false
        }
        if (token.type !== 'link_open') continue
        const [path = '', anchor] = (token.attrGet('href') ?? '').split('#')
        if (path === '' || /^([a-z]+:|\/)/.test(path)) continue
        const target = posix.join(dirname((env as { relativePath: string }).relativePath), path)
        if (target.endsWith('.md') && (target.startsWith('docs/') || !target.includes('/'))) {
          const page = path.replace(/README\.md$/, 'index.md')
          token.attrSet('href', anchor === undefined ? page : `${page}#${anchor}`)
        } else if (!existsSync(join(root, target))) {
          // Left as it is, for the check of dead links to find.
        } else if (repository) {
          token.attrSet('href', `${repository}/blob/main/${target}`)
        } else {
          token.tag = 'span'
          token.attrs = []
          leavesOut = true
        }
      }
    }
  })
}
