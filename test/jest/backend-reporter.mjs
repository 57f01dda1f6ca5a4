import { COLUMNS, countByBackend, reasonsToSkip } from './count-by-backend.mjs'

const WIDTH = 26

/** Prints what will run, the first failure at once, and at the end what ran on which backend through which ORM, and why the rest did not. */
export default class BackendReporter {
  #hasFailed = false

  onRunStart({ numTotalTestSuites: files }) {
    const found = JSON.parse(process.env.FOUND_BACKENDS ?? '[]').filter(({ url }) => url !== undefined)
    console.log(`${files} files of tests on ${found.map(({ name }) => name).join(', ')}`)
  }

  /** Jest itself prints it when all tests of its file have ended. */
  onTestCaseResult({ path }, { status, fullName, failureMessages: [message = ''] }) {
    if (status !== 'failed' || this.#hasFailed) return
    this.#hasFailed = true
    console.log(`First failure: ${path}\n  ${fullName}\n${message}`)
  }

  onRunComplete(_contexts, results) {
    const { testResults } = results
    const found = JSON.parse(process.env.FOUND_BACKENDS ?? '[]')
    // For `npm run works-with`, which reads them in the file of `--json --outputFile`.
    results.versions = Object.fromEntries(
      found.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version]])),
    )
    const files = testResults.map(({ testFilePath, testResults }) => ({
      path: testFilePath,
      tests: testResults,
    }))
    const names = found.map(({ name }) => name)
    const counts = countByBackend(names, files)
    const line = (first, cells, last) =>
      `  ${first.padEnd(14)}${cells.map((cell) => cell.padEnd(WIDTH)).join('')}${last}`.trimEnd()
    const lines = ['', line('Backend', COLUMNS, '')]
    const missing = {}
    for (const { name, url, note } of found) {
      const cells = COLUMNS.map((column) => cell(counts.get(name)?.[column]))
      if (url !== undefined) lines.push(line(name, cells, note))
      else (missing[note] ??= []).push(name)
    }
    lines.push(...Object.entries(missing).map(([note, names]) => `  ${names.join(', ')}: not run: ${note}`))
    const reasons = [...reasonsToSkip(files)].sort(([, one], [, other]) => other - one)
    if (reasons.length > 0) lines.push('', 'Skipped', ...reasons.map(([why, times]) => `  ${times} × ${why}`))
    console.log(lines.join('\n'))
  }
}

function cell(count = { passed: 0, failed: 0, pending: 0 }) {
  const { passed, failed, pending } = count
  const parts = [
    [passed, 'passed'],
    [failed, 'failed'],
    [pending, 'skipped'],
  ]
  return parts.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : [])).join(', ') || '–'
}
