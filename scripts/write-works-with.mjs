import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { COLUMNS, countByBackend } from '../test/jest/count-by-backend.mjs'

// Puts the counts of a full run, and of runs beside it, into docs/works-with.md:
//   npm test -- --json --outputFile=tests.json; npm run test:pglite -- --json --outputFile=pglite.json
//   npm run works-with tests.json pglite.json
const [, , ...reports] = process.argv
const page = fileURLToPath(new URL('../docs/works-with.md', import.meta.url))
const BETWEEN = /(?<=<!-- Written by `npm run works-with`. -->).*(?=<!-- End. -->)/s
/** As their makers spell them. */
const NAMES = {
  sqlite: 'SQLite, in a file',
  'sqlite-memory': 'SQLite, in memory',
  sqljs: 'sql.js',
  pglite: 'PGlite',
  postgres: 'PostgreSQL',
  postgres18: 'PostgreSQL 18',
  mariadb: 'MariaDB',
  mysql: 'MySQL',
  cockroachdb: 'CockroachDB',
  mssql: 'SQL Server',
  oracle: 'Oracle',
  spanner: 'Spanner',
}

const results = reports.flatMap((report) => JSON.parse(readFileSync(report, 'utf8')).testResults)
const files = results.map(({ name, assertionResults }) => ({
  path: relative(process.cwd(), name),
  tests: assertionResults,
}))
const counts = countByBackend(Object.keys(NAMES), files)
const rows = Object.entries(NAMES).map(([name, spelled]) => {
  const row = counts.get(name) ?? {}
  // Tests of texts and fakes name a database, too; what was run was run through an ORM.
  const wasRun = [row.TypeORM, row.Prisma].some((count) => count && count.passed + count.failed > 0)
  return `| ${[spelled, ...COLUMNS.map((column) => cell(wasRun ? row[column] : undefined))].join(' | ')} |`
})
const table = [`| | ${COLUMNS.join(' | ')} |`, `|---|${'---|'.repeat(COLUMNS.length)}`, ...rows, ''].join(
  '\n',
)

const text = readFileSync(page, 'utf8')
const written = text.replace(BETWEEN, `\n\n${table}\n`)
writeFileSync(page, await format(written, { ...(await resolveConfig(page)), parser: 'markdown' }))

function cell({ passed, failed, pending } = { passed: 0, failed: 0, pending: 0 }) {
  if (passed + failed === 0) return 'not run'
  const more = [failed > 0 && `${failed} failed`, pending > 0 && `${pending} skipped`].filter(Boolean)
  return [`${passed} passed`, ...more].join(', ')
}
