import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { COLUMNS, countByBackend } from '../test/jest/count-by-backend.mjs'

// Writes the lists, tables and dates of docs/works-with.md. Results are kept in docs/works-with.json until a newer run of the same
// database, library, scheduler or runtime replaces them, so reports can be added one at a time:
//   npm test -- --json --outputFile=tests.json; npm run works-with tests.json
//   npm run check:package -- --json --outputFile=package.json; npm run works-with package.json
// `--check` writes nothing, and fails if the page differs.
const path = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url))
const read = (file) => readFileSync(path(file), 'utf8')
const PAGE = 'docs/works-with.md'
const RUNS = 'docs/works-with.json'

/** The backends of the tests, as their vendors spell them. */
const DATABASES = {
  sqlite: 'SQLite, in a file',
  'sqlite-memory': 'SQLite, in memory',
  sqljs: 'sql.js',
  pglite: 'PGlite',
  postgres: 'PostgreSQL',
  postgres16: 'PostgreSQL',
  postgres17: 'PostgreSQL',
  postgres18: 'PostgreSQL',
  pgbouncer: 'PgBouncer, PostgreSQL',
  odyssey: 'Odyssey, PostgreSQL',
  pgpool: 'Pgpool-II, PostgreSQL',
  haproxy: 'HAProxy, PostgreSQL',
  mariadb: 'MariaDB',
  mariadb11: 'MariaDB',
  mysql: 'MySQL',
  mysqlrouter: 'MySQL Router, MySQL',
  spanner: 'Spanner (emulator)',
  cockroachdb: 'CockroachDB',
  mssql: 'SQL Server',
  oracle: 'Oracle',
  hana: 'SAP HANA',
}
/** The backends on which `.ci/run` runs every test before each change. */
const SUPPORTED = ['sqlite', 'sqlite-memory', 'sqljs', 'postgres', 'mariadb', 'mysql']
/** The libraries in the titles of `npm run check:package`, as their authors spell them. */
const LIBRARIES = {
  typeorm: 'TypeORM',
  prisma: 'Prisma',
  nestjs: 'NestJS',
  'node-cron': 'node-cron',
  opentelemetry: '@opentelemetry/api',
}

const { values: reports, check } = parse(process.argv.slice(2))
const runs = JSON.parse(read(RUNS))
for (const report of reports) add(JSON.parse(readFileSync(report, 'utf8')))
const written = await pretty(PAGE, page())
if (check) {
  if (written !== read(PAGE)) {
    console.error(`${PAGE} differs from ${RUNS} – run npm run generate.`)
    process.exitCode = 1
  }
} else {
  writeFileSync(path(RUNS), await pretty(RUNS, JSON.stringify(runs)))
  writeFileSync(path(PAGE), written)
}

function parse(args) {
  return { values: args.filter((argument) => argument !== '--check'), check: args.includes('--check') }
}

async function pretty(file, text) {
  return format(text, { ...(await resolveConfig(path(file))), filepath: file })
}

/** Adds a report's results for databases, libraries, schedulers and runtimes. */
function add({ startTime, testResults, versions = {} }) {
  const date = new Date(startTime).toISOString().slice(0, 10)
  const files = testResults.map(({ name, assertionResults }) => ({
    path: relative(process.cwd(), name),
    tests: assertionResults,
  }))
  for (const [name, counts] of countByBackend(Object.keys(DATABASES), files)) {
    // Tests of SQL text and of fakes name databases too. A database was really run only if tests with an ORM were.
    if (![counts.TypeORM, counts.Prisma].some(({ passed, failed }) => passed + failed > 0)) continue
    // Ignore a run of only some of the tests.
    const total = COLUMNS.reduce((sum, column) => sum + counts[column].passed, 0)
    const { total: before = 0 } = runs.databases[name] ?? {}
    if (total < before / 2) continue
    runs.databases[name] = {
      date,
      version: versions[name] ?? runs.databases[name]?.version ?? '',
      total,
      ...counts,
    }
  }
  for (const { tests } of files)
    for (const { ancestorTitles, title, status } of tests) {
      const [about = ''] = ancestorTitles
      const [, library = '', version] = /^([\w-]+), (?:\w+, )?([\d.]+)$/.exec(about) ?? []
      if (library in LIBRARIES) set(runs.libraries, library, version, date, status)
      const [, runtime, number] = /^(Node\.js|Bun|Deno) ([\d.]+)/.exec(about) ?? []
      if (runtime) set(runs.runtimes, runtime, number, date, status)
      const [, scheduler, installed] = /^(.+) \(([@\w/-]+)\)$/.exec(title) ?? []
      if (scheduler && read('docs/schedulers.md').includes(`**${scheduler}`))
        set(runs.schedulers, scheduler, versionOf(installed), date, status)
    }
}

/** Records a version's date, or that one of its tests failed. */
function set(kind, name, version, date, status) {
  const versions = (kind[name] ??= {})
  if (status === 'failed') versions[version] = 'failed'
  else if (status === 'passed' && versions[version] !== 'failed') versions[version] = date
}

function versionOf(installed) {
  for (const modules of ['test/processes/examples/node_modules', 'node_modules'])
    try {
      return JSON.parse(read(`${modules}/${installed}/package.json`)).version
    } catch {
      // The package may be installed in the other folder.
    }
  throw new Error(`${installed} is not installed.`)
}

function page() {
  return Object.entries({
    databases: databases(),
    libraries: list(runs.libraries, LIBRARIES),
    schedulers: list(runs.schedulers),
    runtimes: list(runs.runtimes),
  }).reduce(
    (text, [name, block]) =>
      text.replace(
        new RegExp(`(?<=<!-- Written by \`npm run works-with\`: ${name}. -->).*?(?=<!-- End. -->)`, 's'),
        () => `\n\n${block}\n\n`,
      ),
    read(PAGE),
  )
}

function databases() {
  return Object.entries(DATABASES)
    .filter(([name]) => name in runs.databases)
    .map(([name, spelled]) => {
      const run = runs.databases[name]
      const counts = COLUMNS.map((column) => [column, cell(run[column])]).filter(([, count]) => count !== '')
      const shown = counts.map((count) => count.join(' ')).join(', ')
      const tier = SUPPORTED.includes(name) ? ', supported' : ''
      const version = run.version === '' ? '' : ` ${run.version}`
      return `- **${spelled}**${version}${tier}: ${shown} (${run.date})`
    })
    .join('\n')
}

/** How many tests passed, and whether any failed. */
function cell({ passed, failed } = { passed: 0, failed: 0 }) {
  if (passed + failed === 0) return ''
  return failed > 0 ? `${passed}, ${failed} failed` : String(passed)
}

function list(kind, spelled = {}) {
  const inOrder = ([one], [other]) => one.localeCompare(other, 'en', { numeric: true })
  return Object.entries(kind)
    .map(([name, versions]) => {
      const sorted = Object.keys(versions).sort((one, other) => inOrder([one], [other]))
      const dates = [...new Set(Object.values(versions))].sort()
      return `- **${spelled[name] ?? name}:** ${sorted.join(', ')} (${dates.join(', ')})`
    })
    .join('\n')
}
