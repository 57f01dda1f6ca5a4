import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitepress'

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const dist = path('../../dist')

/** Bundles the package, as published, for a browser, with `node.ts` in place of the modules of Node.js. */
export function publishedPackage(): Plugin {
  return {
    name: 'published-package',
    enforce: 'pre',
    config: () => ({
      worker: { plugins: () => [publishedPackage()] },
      ssr: { noExternal: ['croner', 'sql.js'] },
    }),
    resolveId: (id, importer) => {
      const [isOurs, folder = 'core'] = /^shedlock-orm(?:\/(\w+))?$/.exec(id) ?? []
      if (isOurs) return `${dist}/${folder}/index.mjs`
      return id.startsWith('node:') && importer?.startsWith(dist) ? path('node.ts') : null
    },
  }
}
