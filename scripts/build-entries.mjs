import { build } from 'esbuild'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const outdir = process.argv[2] ?? 'dist'
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
/** `./dist/app/index.js` → `app`. The core has no name outside, and all the others load it. */
const entries = [
  'core',
  ...Object.values(exports).flatMap((target) => target.require?.default.split('/')[2] ?? []),
]

/** What another entry point has is loaded from there, in the same format: an app loads each part once. */
const otherEntries = (file) => ({
  name: 'other-entries',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^\.\.\// }, ({ path, resolveDir }) => {
      const folder = relative('src', join(resolveDir, path))
      return entries.includes(folder) ? { path: `../${folder}/${file}`, external: true } : undefined
    })
  },
})

// One file for each entry point and format: the core as twenty files took five times as long to load. Not minified: what a
// debugger shows, and what a stack trace names, can be read.
for (const entry of entries)
  for (const [format, file] of [
    ['cjs', 'index.js'],
    ['esm', 'index.mjs'],
  ])
    await build({
      entryPoints: [`src/${entry}/index.ts`],
      outfile: join(outdir, entry, file),
      format,
      bundle: true,
      packages: 'external',
      plugins: [otherEntries(file)],
      platform: 'node',
      target: 'node20',
    })

// One set of declarations for both: a lock of a CommonJS module fits where an ES module wants one.
for (const entry of entries) writeFileSync(join(outdir, entry, 'index.d.mts'), "export * from './index.js'\n")
