import { writeFileSync } from 'node:fs'
import { checkHistory, type Figures } from './check-history'
import { chaosRun } from './chaos-run'
import { parseOptions } from './options'

const COLUMNS: readonly [string, (figures: Figures) => string | number][] = [
  ['fault', ({ fault }) => fault.padEnd(30)],
  ['injected', ({ injected }) => injected],
  ['acquired', ({ acquisitions }) => acquisitions],
  ['overlaps', ({ overlaps }) => overlaps],
  ['stale guarded', ({ staleCommits }) => staleCommits.guarded],
  ['stale unguarded', ({ staleCommits }) => staleCommits.unguarded],
  ['cut short', ({ cutShort }) => cutShort],
  ['freed early', ({ freedEarly }) => freedEarly],
  ['held by nobody', ({ heldByNobody }) => heldByNobody],
  ['not aborted', ({ unaborted }) => unaborted],
  ['lost results', ({ lostResults }) => lostResults],
  ['not given', ({ notGiven }) => notGiven],
  ['takeovers', ({ takeovers }) => takeovers],
  ['row destroyed', ({ forced }) => forced],
  ['longest untaken', ({ longestUntaken }) => `${Math.round(longestUntaken)} ms`],
]

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  const { version, history, missing } = await chaosRun(options, (line) => {
    if (!options.json) console.error(line)
  })
  if (options.keep !== undefined) writeFileSync(options.keep, JSON.stringify(history))
  const { violations, segments, total, commits, lostUpdates, driverCrashes } = checkHistory(history)
  if (options.json) {
    console.log(
      JSON.stringify(
        { options, version, total, commits, lostUpdates, driverCrashes, segments, missing, violations },
        null,
        2,
      ),
    )
  } else {
    const line = (cells: readonly (string | number)[]): string =>
      cells.map((cell, column) => String(cell).padStart(COLUMNS[column]?.[0].length ?? 0)).join('  ')
    console.log(`${version}, seed ${options.seed}, ${options.workers} processes, ${options.minutes} minutes`)
    console.log(line(COLUMNS.map(([title], column) => (column === 0 ? title.padEnd(30) : title))))
    for (const figures of [...segments, total]) console.log(line(COLUMNS.map(([, cell]) => cell(figures))))
    console.log(
      `commits: ${commits.guarded} guarded, ${commits.unguarded} not; lost updates: ${lostUpdates.guarded} guarded, ${lostUpdates.unguarded} not`,
    )
    if (driverCrashes > 0)
      console.log(
        `${driverCrashes} processes ended because a database driver threw an error in its socket's event handlers`,
      )
    for (const [fault, why] of Object.entries(missing)) console.log(`not run: ${fault} – ${why}`)
    for (const { promise, what } of violations.slice(0, 50)) console.log(`BROKEN: ${promise}: ${what}`)
    console.log(violations.length === 0 ? 'Every promise was kept.' : `${violations.length} broken promises.`)
  }
  process.exitCode = violations.length === 0 ? 0 : 1
}

void main()
