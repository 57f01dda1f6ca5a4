import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../test/project'

/** Before the first release: the first revision with the methods of `provider.table`. */
const FIRST = 'eae7fd3'

/** The last release before this commit; `undefined` where the history does not have it, as in a shallow clone. */
export function revisionBefore(): string | undefined {
  const git = (...args: string[]): string | undefined => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    return status === 0 ? stdout.trim() : undefined
  }
  const release = git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^')
  return release ?? git('rev-parse', '--verify', '--quiet', `${FIRST}^{commit}`)
}

/** Builds the package as it was in that revision, and unpacks it into `folder`, beside today's peers. */
export function packRevision(revision: string, folder: string): void {
  const sources = `${folder}-sources`
  mkdirSync(sources, { recursive: true })
  const archive = execFileSync('git', ['archive', revision], { cwd: root, maxBuffer: 1e9 })
  execFileSync('tar', ['x', '-C', sources], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'), 'junction')
  npm(sources, 'run', 'build')
  npm(sources, 'pack', '--ignore-scripts', '--pack-destination', sources)
  const [tarball = ''] = execFileSync('find', [sources, '-maxdepth', '1', '-name', '*.tgz'], {
    encoding: 'utf8',
  }).split('\n')
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['xzf', tarball, '-C', folder, '--strip-components', '1'])
}

function npm(cwd: string, ...args: string[]): void {
  execFileSync('npm', [...args, '--silent'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}
