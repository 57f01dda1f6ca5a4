import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MarkdownRenderer } from 'vitepress'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
/** The repository's URL, if the build knows it. */
export const repository = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`

/**
 * Redirects links to files that are not pages of the site, such as tests and examples, to GitHub. In a build that does not know the
 * repository, they become plain text.
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
        if (target.endsWith('.md') && (/^(docs|verification)\//.test(target) || !target.includes('/'))) {
          const page = path.replace(/README\.md$/, 'index.md')
          token.attrSet('href', anchor === undefined ? page : `${page}#${anchor}`)
        } else if (!existsSync(join(root, target))) {
          // Leave the link unchanged, so that the check for dead links reports it.
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
