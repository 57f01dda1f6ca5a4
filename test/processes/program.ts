import { execFileSync } from 'node:child_process'
import { basename, join, relative } from 'node:path'
import { BrokenCopy, type Break } from '../../scripts/broken-copy'
import { root } from '../project'

const OPTIONS = ['--bundle', '--packages=external', '--platform=node', '--target=node20', '--tsconfig-raw={}']

/** A program of the tests as one file: its processes start without a compiler. @param breaks to put into the sources before */
export function program(source: string, breaks: readonly Break[] = []): string {
  if (breaks.length === 0) return bundle(source, basename(root))
  const copy = new BrokenCopy()
  const broken = (): string => bundle(join(copy.path, relative(root, source)), `${basename(root)}-broken`)
  try {
    return breaks.reduce((work, each) => () => copy.whileBroken(each, work), broken)()
  } finally {
    copy.remove()
  }
}

function bundle(source: string, folder: string): string {
  // Inside of the project, so that the packages are found. A copy of the project may share its node_modules.
  const outfile = join(
    root,
    'node_modules/.cache/programs',
    folder,
    basename(source).replace(/\.ts$/, '.cjs'),
  )
  const options = [...OPTIONS, `--outfile=${outfile}`, '--log-level=error']
  execFileSync(join(root, 'node_modules/esbuild/bin/esbuild'), [source, ...options])
  return outfile
}
