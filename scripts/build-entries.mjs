import { build } from 'esbuild'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'

const outdir = process.argv[2] ?? 'dist'
const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
/** The folders of the entry points, such as `sql` for `./dist/sql/index.js`. */
const folders = Object.values(exports).flatMap((target) => target.require?.default.split('/')[2] ?? [])

/** Leaves imports of another folder's `internal` external, and those of an index from its own folder's `internal`. */
const loaded = {
  name: 'loaded',
  setup: (bundle) => {
    bundle.onResolve({ filter: /\/internal$/ }, ({ path, importer, resolveDir }) => {
      if (importer === '') return undefined
      const folder = relative('src', join(resolveDir, path, '..'))
      const isOwn = path.startsWith('./')
      return { path: `${isOwn ? '.' : `../${folder}`}/internal.js`, external: true }
    })
  },
}

const bundle = (entry, output, format) =>
  build({
    entryPoints: [`src/${entry}.ts`],
    outfile: join(outdir, output),
    format,
    bundle: true,
    packages: 'external',
    plugins: [loaded],
    platform: 'node',
    target: 'node20',
  })

// Bundle each folder into one internal file, and one file for its public names: the core as twenty files took five times as long to
// load. Do not minify them, so that debuggers and stack traces show readable code.
for (const folder of folders)
  for (const file of ['internal', 'index'].filter((name) => existsSync(`src/${folder}/${name}.ts`)))
    await bundle(`${folder}/${file}`, `${folder}/${file}.js`, 'cjs')

// ES modules import the same code, so that a process which uses both formats loads it once. Both share one set of declarations, so
// that a lock from a CommonJS module is assignable in an ES module.
const require = createRequire(join(resolve(outdir), 'index.js'))
for (const folder of folders) {
  const names = Object.keys(require(`./${folder}/index.js`)).join(', ')
  const module = join(outdir, folder, 'index')
  // Nest 12 consists of ES modules, which Jest cannot `require`.
  if (folder === 'nestjs') await bundle('nestjs/index', 'nestjs/index.mjs', 'esm')
  else writeFileSync(`${module}.mjs`, `import entry from './index.js'\n\nexport const { ${names} } = entry\n`)
  writeFileSync(`${module}.d.mts`, "export * from './index.js'\n")
}
