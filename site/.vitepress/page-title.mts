import type { PageData } from 'vitepress'

/**
 * Returns the title of the browser's tab where the page's heading is not enough: the first page has the package's name, and several
 * entry points export the same names.
 */
export function pageTitle({ relativePath, title }: PageData): Pick<PageData, 'title' | 'titleTemplate'> {
  if (relativePath === 'index.md')
    return { title: 'shedlock-orm: a scheduled job runs on one instance', titleTemplate: false }
  if (relativePath === 'docs/api/index.md') return { title: 'API' }
  const [, entry = '', kind] =
    /^docs\/api\/(.+?)\/(?:index|(classes|functions|interfaces|type-aliases|variables)\/\w+)\.md$/.exec(
      relativePath,
    ) ?? []
  if (entry === '') return { title }
  return { title: kind ? `${title.replace(/^[^:]+: /, '')} of ${entry}` : `API: ${entry}` }
}
