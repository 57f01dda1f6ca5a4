import { build } from 'esbuild'
import { copyFileSync, readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const outdir = process.argv[2] ?? 'dist/cli'

// One file with its argument parser inside: the library itself has no dependencies.
await build({
  entryPoints: { shedlock: 'src/cli/main.ts' },
  outdir,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Half the size; its errors are sentences, and no stack traces.
  minify: true,
  define: { 'process.env.SHEDLOCK_VERSION': JSON.stringify(version) },
})
copyFileSync('node_modules/commander/LICENSE', `${outdir}/LICENSE-commander.txt`)
