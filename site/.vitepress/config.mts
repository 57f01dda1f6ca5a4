import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { slug } from 'github-slugger'
import { defineConfig, type Plugin } from 'vitepress'
import { publishedPackage } from '../playground/published-package.mts'
import { apiSidebar } from './api-sidebar.mts'
import { contents, MAINTAINERS } from './contents.mts'
import { firstParagraph } from './first-paragraph.mts'
import { linksOutOfTheSite, repository } from './links.mts'
import { writeForLanguageModels } from './llms.mts'
import { headingNamedAbove, playgroundForPicture, setUpsAsTabs } from './first-page.mts'
import { pageTitle } from './page-title.mts'
import { writeRedirects } from './redirects.mts'
import { picturesOfBothSchemes, sizesOfPictures } from './pictures.mts'
import { searchOptions } from './search.mts'
import { absolute, siteUrl } from './site-url.mts'
import { schedulersAsTabs } from './tabs.mts'

const base = siteUrl.pathname
const api = { text: 'API', link: '/docs/api/' }

/**
 * Builds the site from the repository's Markdown, unchanged, and the API reference. A dead link between pages fails the build.
 */
export default defineConfig({
  title: 'shedlock-orm',
  lang: 'en',
  description: 'ShedLock for Node.js, as an extension of TypeORM and Prisma',
  srcDir: '..',
  // The pages are docs/, verification/README.md and the Markdown files next to them.
  srcExclude: ['!(docs|verification|*.md)/**'],
  rewrites: {
    'README.md': 'index.md',
    'docs/README.md': 'docs/index.md',
    'verification/README.md': 'verification/index.md',
  },
  base,
  outDir: 'dist',
  vite: {
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    plugins: [vueOfThisPackage(), publishedPackage()],
    build: { chunkSizeWarningLimit: 2_000 },
  },
  cleanUrls: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: join(base, 'mark.svg') }]],
  transformPageData: (page, { siteConfig }) => {
    Object.assign(page, pageTitle(page))
    page.description = firstParagraph(join(siteConfig.srcDir, page.filePath)) || page.description
  },
  transformHead: ({ pageData: { relativePath, title, description } }) => {
    const url = absolute(relativePath.replace(/(index)?\.md$/, ''))
    const properties = { type: 'website', title, description, url, image: absolute('card.png') }
    return [
      ['link', { rel: 'canonical', href: url }],
      ...Object.entries(properties).map(([property, content]): [string, Record<string, string>] => [
        'meta',
        { property: `og:${property}`, content },
      ]),
      ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
    ]
  },
  buildEnd(site) {
    writeForLanguageModels(site)
    writeRedirects(site)
  },
  // Use GitHub's anchors, so that links to headings work on both sites.
  markdown: {
    config: (md) => {
      linksOutOfTheSite(md)
      picturesOfBothSchemes(md)
      sizesOfPictures(md)
      playgroundForPicture(md)
      headingNamedAbove(md)
      setUpsAsTabs(md)
      schedulersAsTabs(md)
    },
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    logo: '/mark.svg',
    // On a phone, these links are the menu.
    nav: [...contents().filter(({ text }) => text !== MAINTAINERS), api],
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
    search: { provider: 'local', options: { miniSearch: searchOptions } },
    outline: [2, 3],
    sidebar: {
      '/docs/api/': [{ text: 'Documentation', link: '/docs/' }, ...apiSidebar()],
      '/': [...contents(), api],
    },
  },
})

/** Resolves Vue for the pages, which are outside this package. Only the build needs it, so it need not be bundled. */
function vueOfThisPackage(): Plugin {
  return {
    name: 'vue-of-this-package',
    enforce: 'pre',
    resolveId: (id, _importer, { ssr }) =>
      ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null,
  }
}
