import { COLUMNS, countByBackend, reasonsToSkip } from './count-by-backend.mjs'

const WIDTH = 26

/** Tells at the end of a run what was run on which backend, through which ORM, and why something was not. */
export default class BackendReporter {
  onRunComplete(_contexts, { testResults }) {
    const found = JSON.parse(process.env.FOUND_BACKENDS ?? '[]')
    const files = testResults.map(({ testFilePath, testResults }) => ({
      path: testFilePath,
      tests: testResults,
    }))
    const names = found.map(({ name }) => name)
    const counts = countByBackend(names, files)
    const line = (first, cells, last) =>
      `  ${first.padEnd(14)}${cells.map((cell) => cell.padEnd(WIDTH)).join('')}${last}`.trimEnd()
    const lines = ['', line('Backend', COLUMNS, '')]
    for (const { name, url, note } of found) {
      const row = counts.get(name)
      if (url === undefined) lines.push(line(name, [], `not run: ${note}`))
      else
        lines.push(
          line(
            name,
            COLUMNS.map((column) => cell(row?.[column])),
            note,
          ),
        )
    }
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
