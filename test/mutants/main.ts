/**
 * Lets StrykerJS break the code, one expression at a time, and prints which breaks no test notices:
 * `npm run mutants [-- --changed | --force | --page | file or folder …]`. Without a file: those changed since main, or else all on
 * the way of a lock. Fails if more mutants of a file survive than docs/maintainers/mutants.md says; `--page` writes it there. Without
 * `--force`, a mutant is not run again unless its file or a test that noticed it has changed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBackends } from '../backends/find-backends'
import { generateClients } from '../prisma/generate-clients'
import { root } from '../project'
import { groups, type Group } from './groups'

interface Mutant {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError'
}
interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>
}

const cache = join(root, 'node_modules/.cache/mutants')
const page = join(root, 'docs/maintainers/mutants.md')
/** One file's row in the page's table. */
const ROW = /^\| (\w+\/[\w/.-]+\.ts) .*\n/gm
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const given = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

const lines = (command: string, ...args: string[]): string[] =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8' }).trim().split('\n')

/** Doors contain no code. */
const isMutated = (file: string): boolean =>
  groups.some(({ files }) => files.test(file)) && !/\/(index|internal)\.ts$/.test(file)

function onTheWay(): string[] {
  const printed = lines(process.execPath, 'scripts/way-of-a-lock.mjs', '--files')
  return [...new Set(printed.filter((line) => line.endsWith('.js')))].map(
    (line) => `src/${line.trim().replace(/\.js$/, '.ts')}`,
  )
}

function chosen(): string[] {
  if (given.length > 0) return lines('git', 'ls-files', ...given).filter(isMutated)
  const base = process.env['BASE'] ?? 'main'
  const changed = lines('git', 'diff', '--name-only', '--diff-filter=d', '--merge-base', base, 'src').filter(
    isMutated,
  )
  return changed.length > 0 || flags.includes('--changed') ? changed : onTheWay()
}

/** @returns the report of these files */
async function mutate(group: Group, files: readonly string[]): Promise<Report['files']> {
  const path = (name: string): string => join(cache, `${group.name}.${name}.json`)
  process.env['BACKENDS'] = process.env['REQUIRE_BACKENDS'] = group.backends
  const { backends, stop } = await findBackends()
  rmSync(path('coverage'), { force: true })
  try {
    const { status } = spawnSync(
      process.execPath,
      [
        'test/mutants/node_modules/@stryker-mutator/core/bin/stryker.js',
        'run',
        'test/mutants/stryker.config.mjs',
        ...flags.filter((flag) => flag === '--force'),
      ],
      {
        cwd: root,
        stdio: 'inherit',
        env: {
          ...process.env,
          FOUND_BACKENDS: JSON.stringify(backends),
          MUTANT_FILES: JSON.stringify(files),
          MUTANT_TESTS: JSON.stringify(group.tests),
          MUTANT_COVERAGE: path('coverage'),
          MUTANT_REPORT: path('report'),
          MUTANT_RESULTS: path('incremental'),
        },
      },
    )
    if (status !== 0) throw new Error(`The mutants of ${group.name} could not be run.`)
  } finally {
    await stop()
  }
  const report = JSON.parse(readFileSync(path('report'), 'utf8')) as Report
  return Object.fromEntries(Object.entries(report.files).filter(([file]) => files.includes(file)))
}

/** @returns the file's row for the page, and how many of its mutants survived */
function scoreOf(file: string, mutants: readonly Mutant[]): { row: string; survivors: number } {
  const count = (...those: Mutant['status'][]): number =>
    mutants.filter(({ status }) => those.includes(status)).length
  const noticed = count('Killed', 'Timeout')
  const survivors = count('Survived', 'NoCoverage')
  const score = ((100 * noticed) / Math.max(1, noticed + survivors)).toFixed(1)
  const cells = [file.replace('src/', ''), noticed + survivors, count('Killed'), count('Timeout')]
  return {
    row: `| ${[...cells, count('Survived'), count('NoCoverage'), `${score} %`].join(' | ')} |`,
    survivors,
  }
}

/** The rows of the page's table, by file. */
function rowsOf(text: string): Map<string, string> {
  return new Map([...text.matchAll(ROW)].map(([row, file = '']) => [`src/${file}`, row.trim()]))
}

async function main(): Promise<void> {
  mkdirSync(cache, { recursive: true })
  await generateClients()
  const files = chosen()
  const text = readFileSync(page, 'utf8')
  const rows = rowsOf(text)
  for (const group of groups) {
    const ofGroup = files.filter((file) => group.files.test(file))
    if (ofGroup.length === 0) continue
    for (const [file, { mutants }] of Object.entries(await mutate(group, ofGroup))) {
      const { row, survivors } = scoreOf(file, mutants)
      const [survived = Infinity, uncovered = 0] = rows.get(file)?.split('|').slice(5, 7).map(Number) ?? []
      const isWorse = survivors > survived + uncovered
      if (isWorse) process.exitCode = 1
      console.log(isWorse ? `${row} more survive than before` : row)
      rows.set(file, row)
    }
  }
  if (!flags.includes('--page')) return
  const table = [...rows.values()].toSorted().join('\n')
  writeFileSync(
    page,
    text.replaceAll(ROW, '').replace(/^\| -.*\n/m, (head) => `${head}${table}\n`),
  )
  lines('npx', 'prettier', '--write', page)
}

void main()
