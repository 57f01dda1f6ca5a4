import { execFileSync } from 'node:child_process'
import { basename, join, relative } from 'node:path'

const root = join(__dirname, '../..')
const OPTIONS = ['--bundle', '--packages=external', '--platform=node', '--target=node20', '--tsconfig-raw={}']

/** A program of the tests as one file: its processes start without a compiler. */
export function program(source: string): string {
  // Inside of the project, so that the packages are found. A copy of the project may share its node_modules.
  const folder = join(root, 'node_modules/.cache/programs', basename(root))
  const outfile = join(folder, relative(__dirname, source).replace(/\.ts$/, '.cjs'))
  const options = [...OPTIONS, `--outfile=${outfile}`, '--log-level=error']
  execFileSync(join(root, 'node_modules/esbuild/bin/esbuild'), [source, ...options])
  return outfile
}
