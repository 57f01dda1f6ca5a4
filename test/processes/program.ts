import { execFileSync } from 'node:child_process'
import { renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../project'

const OPTIONS = ['--bundle', '--packages=external', '--platform=node', '--target=node20', '--tsconfig-raw={}']

/** A program of the tests as one file: its processes start without a compiler. @param kind distinguishes bundles of one source */
export function program(source: string, kind = ''): string {
  // Inside of the project, so that the packages are found. A copy of the project may share its node_modules.
  const outfile = join(
    root,
    'node_modules/.cache/programs',
    basename(root) + kind,
    basename(source).replace(/\.ts$/, '.cjs'),
  )
  // Another test may be starting the program meanwhile, so it must never see half of it.
  const written = `${outfile}.${process.pid}`
  const options = [...OPTIONS, `--outfile=${written}`, '--log-level=error']
  execFileSync(join(root, 'node_modules/esbuild/bin/esbuild'), [source, ...options])
  renameSync(written, outfile)
  return outfile
}
