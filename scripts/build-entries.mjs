import { build } from 'esbuild'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const outdir = process.argv[2] ?? 'dist'
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
/** `./dist/core/index.js` → `core` */
const entries = Object.values(exports).flatMap((target) => target.default?.split('/')[2] ?? [])

/** What another entry point has is loaded from there, so that there is one `LockError` and one active lock. */
const otherEntries = {
  name: 'other-entries',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^\.\.\// }, ({ path, resolveDir }) => {
      const folder = relative('src', join(resolveDir, path))
      return entries.includes(folder) ? { path: `../${folder}`, external: true } : undefined
    })
  },
}

// One file for each entry point: the core as twenty files took five times as long to load.
for (const entry of entries)
  await build({
    entryPoints: [`src/${entry}/index.ts`],
    outfile: join(outdir, entry, 'index.js'),
    bundle: true,
    packages: 'external',
    plugins: [otherEntries],
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
  })
