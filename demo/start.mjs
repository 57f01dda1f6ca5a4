import { execSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

// Starts the demo with the package as published. Compiling only the demo's own files as they are loaded is faster than the tsx command.

const changed = (file) => statSync(file).mtimeMs
const built = 'dist/core/index.js'
const sources = readdirSync('src', { recursive: true }).map((file) => `src/${file}`)

if (!existsSync(built) || sources.some((source) => changed(source) > changed(built))) {
  console.log('\nBuilding the package, which takes a while …')
  try {
    execSync('npm run --silent build', { encoding: 'utf8', stdio: 'pipe' })
  } catch ({ stdout, stderr }) {
    console.error(stdout + stderr)
    process.exit(1)
  }
}
process.env.TSX_TSCONFIG_PATH = fileURLToPath(new URL('tsconfig.run.json', import.meta.url))
const require = createRequire(import.meta.url)
require('tsx/cjs')
require('./main.ts')
