import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** What package.json lets people import, as its declarations say: what is `@internal` has none. */
export const apiPages = Object.entries(manifest.exports)
  .filter(([, entry]) => typeof entry === 'object')
  .map(([path, { require }]) => {
    const name = manifest.name + path.slice(1)
    return {
      name,
      source: dirname(require.types).replace('./', '../') + '/index.d.ts',
      page: `/docs/api/${name}`,
    }
  })
