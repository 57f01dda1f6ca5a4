import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { charts } from './charts'
import { pageTables } from './page-tables'
import type { Results } from './results'

const FOLDER = join(__dirname, '../docs/performance')
const PAGE = join(__dirname, '../docs/performance.md')
const [BEGIN, END] = ['<!-- results: drawn by npm run bench:report -->', '<!-- end of results -->']

/** Updates the page and its charts from docs/performance/results.json, the output of `npm run bench -- --json`. */
async function main(): Promise<void> {
  const results = JSON.parse(readFileSync(join(FOLDER, 'results.json'), 'utf8')) as Results
  for (const [file, svg] of Object.entries(await charts(results))) writeFileSync(join(FOLDER, file), svg)
  const page = readFileSync(PAGE, 'utf8')
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`${PAGE} has lost its marks for the results.`)
  const written = `${before}${BEGIN}\n\n${pageTables(results)}\n\n${END}${after}`
  writeFileSync(PAGE, await format(written, { ...(await resolveConfig(PAGE)), filepath: PAGE }))
}

void main()
