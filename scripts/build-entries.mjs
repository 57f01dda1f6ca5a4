import { build } from 'esbuild'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const outdir = process.argv[2] ?? 'dist'
const { exports, version, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
/** The folders of the entry points, such as `sql` for `./dist/sql/index.js`. */
const folders = Object.values(exports).flatMap((target) => target.require?.default.split('/')[2] ?? [])

/**
 * Leaves imports of another folder's `internal` external, in the same format, and those of an index from its own folder's
 * `internal`.
 */
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

// Bundle each folder into one internal file, and one file for its public names: the core as twenty files took five times as long to
// load. Do not minify them, so that debuggers and stack traces show readable code.
for (const folder of folders)
  for (const file of ['internal', 'index'].filter((name) => existsSync(`src/${folder}/${name}.ts`)))
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

// Both formats share one set of declarations, so that a lock from a CommonJS module is assignable in an ES module.
for (const folder of folders)
  writeFileSync(join(outdir, folder, 'index.d.mts'), "export * from './index.js'\n")

// The command line uses them, and contains the argument parser, because the package has no dependencies. Minifying halves its size: it
// prints the messages of errors, and no stack traces.
await build({
  entryPoints: ['src/cli/main.ts'],
  outfile: join(outdir, 'cli/shedlock.js'),
  bundle: true,
  plugins: [loaded('.js')],
  platform: 'node',
  target: 'node20',
  minify: true,
  define: {
    'process.env.SHEDLOCK_VERSION': JSON.stringify(version),
    'process.env.SHEDLOCK_PEERS': JSON.stringify(JSON.stringify(peerDependencies)),
  },
})
copyFileSync('node_modules/commander/LICENSE', join(outdir, 'cli/LICENSE-commander.txt'))
