import { paragraph } from './timeline'
import type { Verdict } from './verdict'

/** Prints the result, also as JSON if requested. Returns the exit status. */
export function report(verdict: Verdict, fires: number, json: boolean): number {
  const { ticks, runs, duplicates, overlaps, longestGapMs, takeoverMs, runsOfEach } = verdict
  const each = Object.entries(runsOfEach)
    .sort()
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
  console.log()
  line(true, `${runs} runs in ${ticks} seconds (${each}). Without the lock it would have been ${fires}.`)
  line(duplicates === 0, `${duplicates === 0 ? 'No' : duplicates} seconds were run twice.`)
  line(overlaps === 0, `${overlaps === 0 ? 'No' : overlaps} runs overlapped.`)
  line(
    takeoverMs !== null,
    takeoverMs === null
      ? 'No instance took over after kill -9.'
      : `Another instance took over ${seconds(takeoverMs)} after kill -9. The longest gap between two runs was ${seconds(longestGapMs)}.`,
  )
  console.log()
  paragraph(
    '  ',
    'Next, in your app: npm install shedlock-orm, and npx shedlock-orm init writes the migration of the lock table. On your own database, this demo runs with npm run demo -- --db postgres://…; its other options: --help.',
  )
  console.log()
  if (json) console.log(JSON.stringify({ fires, ...verdict }))
  return duplicates === 0 && overlaps === 0 && takeoverMs !== null ? 0 : 1
}

function line(good: boolean, text: string): void {
  paragraph(`  ${good ? '✓' : '✗'} `, text, good ? 'green' : 'red')
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
