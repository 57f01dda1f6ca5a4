/**
 * Breaks each rule of the lock in a copy of the project, and tells which tests notice: `npm run mutate [rule …]`.
 * Fails when a broken rule stays unnoticed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BrokenCopy } from './broken-copy'
import { mutations, type Mutation } from './mutations'

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const copy = new BrokenCopy()
const report = join(copy.path, 'report.json')
const jest = join(copy.path, 'node_modules', 'jest', 'bin', 'jest.js')

/** The titles of the tests that fail under the mutation. */
function redTests(mutation: Mutation): string[] {
  const { tests, backend } = mutation
  rmSync(report, { force: true })
  return copy.whileBroken(mutation, () => {
    spawnSync(
      process.execPath,
      [jest, ...tests, '--json', `--outputFile=${report}`, '--testTimeout=20000'],
      // No --bail, which leaves out the report when tests are left. What it prints would not fit a buffer.
      { cwd: copy.path, env: { ...process.env, BACKENDS: backend, CI: 'true' }, stdio: 'ignore' },
    )
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
    return testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => fullName)
  })
}

const wanted = process.argv.slice(2).map(Number)
const chosen = mutations.filter(({ rule }) => wanted.length === 0 || wanted.includes(rule))
try {
  for (const mutation of chosen) {
    const red = redTests(mutation)
    if (red.length === 0) process.exitCode = 1
    console.log(`Rule ${mutation.rule}: ${mutation.breaks} (${mutation.backend})`)
    console.log(red.length === 0 ? '  NOBODY NOTICED' : red.map((title) => `  red: ${title}`).join('\n'))
  }
} finally {
  copy.remove()
}
