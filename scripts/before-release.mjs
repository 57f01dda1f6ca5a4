import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

// Prints what is missing for a release of this checkout, and fails if anything is: `npm run before-release [tag]`.
// `repository` and `author` in package.json can only be set once the repository has an address. npm derives `homepage` and `bugs`.
const { version, repository, author } = JSON.parse(readFileSync('package.json', 'utf8'))
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const tag = process.argv[2] ?? process.env.GITHUB_REF_NAME ?? `v${version}`
const here = process.env.GITHUB_REPOSITORY

/** The `owner/name` in `github:owner/name` or in an address. */
const slug = /([^/:]+\/[^/]+?)(\.git)?$/.exec(repository?.url ?? repository ?? '')?.[1]

const missing = [
  !slug && 'package.json has no repository, such as "github:owner/shedlock-orm"',
  slug && here && slug !== here && `package.json says that the repository is ${slug}, and this is ${here}`,
  !author && 'package.json has no author, such as "Ann <ann@example.org>"',
  tag !== `v${version}` && `the tag is ${tag}, and the version ${version}`,
  !changelog.split('\n').includes(`## ${version}`) && `CHANGELOG.md has no heading "## ${version}"`,
  changelog.includes('not released yet') && 'CHANGELOG.md says "not released yet"',
  !isOnMain() && 'this commit is not on origin/main',
].filter(Boolean)

for (const what of missing) console.error(`Before the release: ${what}.`)
if (missing.length > 0) process.exitCode = 1
else console.log(`${slug} ${version} can be released.`)

function isOnMain() {
  try {
    execFileSync('git', ['merge-base', '--is-ancestor', 'HEAD', 'origin/main'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
