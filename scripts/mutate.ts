/**
 * Breaks each rule of the lock in a copy of the project, and tells which tests notice: `npm run mutate [rule …]`.
 * Fails when a broken rule stays unnoticed.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { mutations, type Mutation } from './mutations'

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

const project = join(__dirname, '..')
const copy = mkdtempSync(join(tmpdir(), 'shedlock-mutate-'))
const LEFT_OUT = ['.git', 'node_modules', 'dist']
cpSync(project, copy, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) })
symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'))

/** The titles of the tests that fail under the mutation. */
function redTests({ file, find, replace, tests, backend }: Mutation): string[] {
  const path = join(copy, file)
  const original = readFileSync(path, 'utf8')
  if (!original.includes(find))
    throw new Error(`${file} no longer has '${find}' – correct scripts/mutations.ts.`)
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  writeFileSync(
    path,
    original.replaceAll(find, () => replace),
  )
  try {
    const jest = join(project, 'node_modules', 'jest', 'bin', 'jest.js')
    spawnSync(
      process.execPath,
      [jest, ...tests, '--json', `--outputFile=${report}`, '--testTimeout=20000', '--bail'],
      // What it prints would not fit a buffer when much is red.
      { cwd: copy, env: { ...process.env, BACKENDS: backend, CI: 'true' }, stdio: 'ignore' },
    )
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
    return testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => fullName)
  } finally {
    writeFileSync(path, original)
  }
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
  rmSync(copy, { recursive: true })
}
