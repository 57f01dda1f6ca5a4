import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { slug } from 'github-slugger'
import { defineConfig, type Plugin } from 'vitepress'
import { apiPages } from '../api-pages.mjs'
import { contents } from './contents.mts'
import { linksOutOfTheSite } from './links.mts'
import { llmsTxt } from './llms.mts'

/**
 * The Markdown of the repository as it is, with the API reference beside it. A link from page to page that leads nowhere
 * ends the build.
 */
export default defineConfig({
  title: 'shedlock-orm',
  description: 'ShedLock for Node.js, as an extension of TypeORM and Prisma',
  srcDir: '..',
  // The pages are docs/ and the texts beside it.
  srcExclude: ['!(docs|*.md)/**'],
  rewrites: { 'README.md': 'index.md', 'docs/README.md': 'docs/index.md' },
  // On GitHub's Pages the site is not at the root of its host.
  base: `${process.env.BASE_PATH ?? ''}/`,
  outDir: 'dist',
  vite: { plugins: [vueOfThisPackage()], build: { chunkSizeWarningLimit: 2_000 } },
  cleanUrls: true,
  buildEnd: ({ outDir, site }) => {
    writeFileSync(join(outDir, 'llms.txt'), llmsTxt(site.base))
  },
  // The anchors are GitHub's, so that a link to a heading is right there and here.
  markdown: { config: linksOutOfTheSite, anchor: { slugify: slug } },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // A page that explains an option, before the interfaces that have it and the maintainers' pages.
            boostDocument: (id: string) => (/\/docs\/(api|maintainers)\//.test(id) ? 0.1 : 1),
          },
        },
      },
    },
    outline: [2, 3],
    sidebar: [
      ...contents(),
      {
        text: 'API',
        collapsed: false,
        items: apiPages.map(({ name, page }) => ({ text: name, link: page })),
      },
    ],
  },
})

/** The pages lie outside of this package, where Vue is not found. It is needed at the build only, so it need not be bundled. */
function vueOfThisPackage(): Plugin {
  return {
    name: 'vue-of-this-package',
    enforce: 'pre',
    resolveId: (id, _importer, { ssr }) =>
      ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null,
  }
}
