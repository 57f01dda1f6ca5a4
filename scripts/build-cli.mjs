import { build } from 'esbuild'
import { copyFileSync, readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const outdir = process.argv[2] ?? 'dist/cli'

// Bundle the argument parser into the command, because the package has no dependencies.
await build({
  entryPoints: { shedlock: 'src/cli/main.ts' },
  outdir,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Halves the size. The command prints error messages, not stack traces, so readable code is not needed.
  minify: true,
  define: {
    'process.env.SHEDLOCK_VERSION': JSON.stringify(version),
  },
})
copyFileSync('node_modules/commander/LICENSE', `${outdir}/LICENSE-commander.txt`)
