/**
 * Breaks each rule of the lock in a copy of the project, and prints which tests fail: `npm run mutate [rule …]`.
 * Fails if no test notices a broken rule.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BrokenCopy } from './broken-copy'
import { mutations, SUITE, type Mutation } from './mutations'

interface Report {
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const rules = process.argv.slice(2)
const chosen = mutations.filter(({ rule }) => rules.length === 0 || rules.includes(String(rule)))
const unbroken = rules.filter((each) => !chosen.some(({ rule }) => String(rule) === each))
if (unbroken.length > 0)
  throw new Error(
    `No mutation breaks rule ${unbroken.join(', ')} – name others of docs/maintainers/tests.md.`,
  )

const copy = new BrokenCopy()
const report = join(copy.path, 'report.json')
const jest = join(copy.path, 'node_modules', 'jest', 'bin', 'jest.js')

/** Returns the titles of the tests that fail under the mutation. */
function redTests(mutation: Mutation): string[] {
  const { tests = SUITE, backend = 'sqlite' } = mutation
  rmSync(report, { force: true })
  return copy.whileBroken(mutation, () => {
    spawnSync(
      process.execPath,
      [jest, ...tests, '--json', `--outputFile=${report}`, '--testTimeout=20000', '--forceExit'],
      // Not with --bail, which writes no report if it leaves tests out. A broken program may leave others running, so jest does not wait
      // for them. The output is ignored, because it would not fit into a buffer.
      { cwd: copy.path, env: { ...process.env, BACKENDS: backend, CI: 'true' }, stdio: 'ignore' },
    )
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
    const broken = testResults.find(({ assertionResults }) => assertionResults.length === 0)
    if (broken) throw new Error(`${mutation.breaks}: the broken code does not run: ${broken.message}`)
    return testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => fullName)
  })
}

try {
  for (const mutation of chosen) {
    const red = redTests(mutation)
    if (red.length === 0) process.exitCode = 1
    console.log(`Rule ${mutation.rule}: ${mutation.breaks}`)
    console.log(red.length === 0 ? '  NO TEST FAILED' : red.map((title) => `  red: ${title}`).join('\n'))
  }
} finally {
  copy.remove()
}
