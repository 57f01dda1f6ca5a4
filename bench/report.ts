import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { charts } from './charts'
import { allTables, summary } from './page-tables'
import type { BlockedRow, Flood, Results, Soak, Thaw } from './results'

const FOLDER = join(__dirname, '../docs/performance')
const PAGE = join(__dirname, '../docs/performance.md')
const FIGURES = join(__dirname, 'figures.md')
const [BEGIN, END] = ['<!-- results: drawn by npm run bench:report -->', '<!-- end of results -->']

/**
 * Updates the page, all charts and all figures from the files in docs/performance: the outputs of `npm run bench -- --json`,
 * `npm run flood -- held locked --json`, `npm run flood -- ended frozen --json`, `npm run flood -- flood --json` with `--way own` and
 * `--way app`, and `npm run soak`.
 */
async function main(): Promise<void> {
  const results = JSON.parse(readFileSync(join(FOLDER, 'results.json'), 'utf8')) as Results
  const faults = {
    blockedRow: lines<BlockedRow>('blocked-row.jsonl'),
    thaw: lines<Thaw>('thaw.jsonl'),
    flood: lines<Flood>('flood.jsonl'),
    soak: lines<Soak>('soak.jsonl'),
  }
  for (const [file, svg] of Object.entries(await charts(results, faults)))
    writeFileSync(join(FOLDER, file), svg)
  const page = readFileSync(PAGE, 'utf8')
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`${PAGE} has lost its marks for the results.`)
  await write(PAGE, `${before}${BEGIN}\n\n${summary(results)}\n\n${END}${after}`)
  await write(FIGURES, `# Figures\n\n${allTables(results)}\n`)
}

const lines = <T>(file: string): T[] =>
  readFileSync(join(FOLDER, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)

async function write(file: string, text: string): Promise<void> {
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }))
}

void main()
