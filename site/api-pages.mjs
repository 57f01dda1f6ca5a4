import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** What package.json lets people import: nothing can be public without being in the reference. */
export const apiPages = Object.entries(manifest.exports)
  .filter(([, entry]) => typeof entry === 'object')
  .map(([path, { require }]) => {
    const name = manifest.name + path.slice(1)
    return {
      name,
      source: dirname(require.types).replace('./dist/', '../src/') + '/index.ts',
      page: `/docs/api/${name}`,
    }
  })
