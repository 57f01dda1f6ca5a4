import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { temporaryFolder } from '../temporary-folder'

const script = join(__dirname, '../../scripts/before-release.mjs')
const READY = { version: '1.2.3', repository: 'github:ann/locks', author: 'Ann' }

/** A checkout, and what is said of it. */
function check(manifest: object, changelog: string, isOnMain: boolean, env: Record<string, string> = {}) {
  const folder = temporaryFolder()
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org']
    execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'ignore' })
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog)
  git('init', '--initial-branch', 'main')
  git('commit', '--allow-empty', '--message', 'pushed')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  if (!isOnMain) git('commit', '--allow-empty', '--message', 'not pushed')
  const { GITHUB_REF_NAME: _, GITHUB_REPOSITORY: __, ...inherited } = process.env
  const options = { cwd: folder, encoding: 'utf8', env: { ...inherited, ...env } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], options)
  return { status, said: (stdout + stderr).trim().split('\n') }
}

it('a version can be released whose tag, changelog, commit and address are right', () => {
  const env = { GITHUB_REF_NAME: 'v1.2.3', GITHUB_REPOSITORY: 'ann/locks' }
  expect(check(READY, '# Changelog\n\n## 1.2.3\n', true, env)).toEqual({
    status: 0,
    said: ['ann/locks 1.2.3 can be released.'],
  })
})

it('all that is missing is said at once', () => {
  const { status, said } = check({ version: '1.2.3' }, 'not released yet\n', false, {
    GITHUB_REF_NAME: 'v1.2.4',
  })
  expect(status).toBe(1)
  expect(said).toEqual([
    expect.stringContaining('no repository'),
    expect.stringContaining('no author'),
    expect.stringContaining('the tag is v1.2.4'),
    expect.stringContaining('no heading "## 1.2.3"'),
    expect.stringContaining('not released yet'),
    expect.stringContaining('not on origin/main'),
  ])
})

it('another repository than that of package.json is not the one', () => {
  const repository = { type: 'git', url: 'git+https://github.com/ann/locks.git' }
  const { said } = check({ ...READY, repository }, '## 1.2.3\n', true, { GITHUB_REPOSITORY: 'bob/locks' })
  expect(said).toEqual([expect.stringContaining('ann/locks, and this is bob/locks')])
})
