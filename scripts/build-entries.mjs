import { build } from 'esbuild'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const outdir = process.argv[2] ?? 'dist'
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
/** `./dist/sql/index.js` → `sql`. */
const folders = Object.values(exports).flatMap((target) => target.require?.default.split('/')[2] ?? [])

/** What another folder has is loaded from there, in the same format, and an index passes on what its folder has. */
const loaded = (extension) => ({
  name: 'loaded',
  setup: (bundle) => {
    bundle.onResolve({ filter: /\/internal$/ }, ({ path, importer, resolveDir }) => {
      if (importer === '') return undefined
      const folder = relative('src', join(resolveDir, path, '..'))
      const isOwn = path.startsWith('./')
      return { path: `${isOwn ? '.' : `../${folder}`}/internal${extension}`, external: true }
    })
  },
})

// One file for what each folder has inside, and one for what it shows: the core as twenty files took five times as long to load.
// Not minified: what a debugger shows, and what a stack trace names, can be read.
for (const folder of folders)
  for (const file of ['internal', 'index'].filter((each) => existsSync(`src/${folder}/${each}.ts`)))
    for (const [format, extension] of [
      ['cjs', '.js'],
      ['esm', '.mjs'],
    ])
      await build({
        entryPoints: [`src/${folder}/${file}.ts`],
        outfile: join(outdir, folder, file + extension),
        format,
        bundle: true,
        packages: 'external',
        plugins: [loaded(extension)],
        platform: 'node',
        target: 'node20',
      })

// One set of declarations for both: a lock of a CommonJS module fits where an ES module wants one.
for (const folder of folders)
  writeFileSync(join(outdir, folder, 'index.d.mts'), "export * from './index.js'\n")
