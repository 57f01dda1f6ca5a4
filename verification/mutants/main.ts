/**
 * Lets StrykerJS break the code, one expression at a time, and prints which breaks no test notices:
 * `npm run mutants [-- --changed | --force | --write | file or folder …]`. Without a file: those changed since main, or else all on
 * the way of a lock. Fails if more mutants of a file survive than scores.txt says; `--write` writes it there. Without
 * `--force`, a mutant is not run again unless its file or a test that noticed it has changed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBackends } from '../../test/backends/find-backends'
import { generateClients } from '../../test/prisma/generate-clients'
import { root } from '../../test/project'
import { table } from '../table'
import { groups, type Group } from './groups'

interface Mutant {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError'
}
interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>
}

const cache = join(root, 'node_modules/.cache/mutants')
const scores = join(__dirname, 'scores.txt')
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
  if (given.length > 0) {
    const files = lines('git', 'ls-files', ...given).filter(isMutated)
    if (files.length > 0) return files
    throw new Error(`${given.join(', ')} has no file that groups.ts mutates.`)
  }
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
        'verification/mutants/node_modules/@stryker-mutator/core/bin/stryker.js',
        'run',
        'verification/mutants/stryker.config.mjs',
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

const TITLES = ['file', 'mutants', 'noticed', 'by a time-out', 'survived', 'not covered', 'score']

/** @returns the file's row for the table, and how many of its mutants survived */
function scoreOf(file: string, mutants: readonly Mutant[]): { row: string[]; survivors: number } {
  const count = (...those: Mutant['status'][]): number =>
    mutants.filter(({ status }) => those.includes(status)).length
  const noticed = count('Killed', 'Timeout')
  const survivors = count('Survived', 'NoCoverage')
  const score = ((100 * noticed) / Math.max(1, noticed + survivors)).toFixed(1)
  const counts = (['Killed', 'Timeout', 'Survived', 'NoCoverage'] as const).map((status) => count(status))
  const all = [noticed + survivors, ...counts].map(String)
  return { row: [file.replace('src/', ''), ...all, `${score} %`], survivors }
}

/** The rows of the table, by file, without those of files that are gone. */
function storedRows(): Map<string, string[]> {
  const [, ...rows] = readFileSync(scores, 'utf8').trim().split('\n')
  const cells = rows.map((row): [string, string[]] => {
    const [file = '', ...others] = row.split(/ {2,}/)
    return [`src/${file}`, [file, ...others]]
  })
  return new Map(cells.filter(([file]) => file.includes('…') || existsSync(join(root, file))))
}

async function main(): Promise<void> {
  mkdirSync(cache, { recursive: true })
  await generateClients()
  const files = chosen()
  const rows = storedRows()
  for (const group of groups) {
    const ofGroup = files.filter((file) => group.files.test(file))
    if (ofGroup.length === 0) continue
    for (const [file, { mutants }] of Object.entries(await mutate(group, ofGroup))) {
      const { row, survivors } = scoreOf(file, mutants)
      const [survived = Infinity, uncovered = 0] = rows.get(file)?.slice(4, 6).map(Number) ?? []
      const isWorse = survivors > survived + uncovered
      if (isWorse) process.exitCode = 1
      console.log(`${table([TITLES, row])}${isWorse ? '  more survive than before' : ''}`)
      rows.set(file, row)
    }
  }
  if (!flags.includes('--write')) return
  const sorted = [...rows.values()].toSorted(([one = ''], [other = '']) => one.localeCompare(other))
  writeFileSync(scores, `${table([TITLES, ...sorted])}\n`)
}

void main()
