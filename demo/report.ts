import { paint } from './paint'
import type { Verdict } from './verdict'

/** Prints what came out, and as JSON if wanted. Returns the exit status. */
export function report(verdict: Verdict, fires: number, json: boolean): number {
  const { ticks, runs, duplicates, overlaps, longestGapMs, takeoverMs, runsOfEach } = verdict
  const each = Object.entries(runsOfEach)
    .sort()
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
  const lines = [
    line(
      true,
      `runs in ${ticks} seconds: ${runs} (${each}); without the lock, one each time that a scheduler fired: ${fires}`,
    ),
    line(duplicates === 0, `seconds that were run twice: ${duplicates}`),
    line(overlaps === 0, `runs that overlapped: ${overlaps}`),
    line(
      takeoverMs !== null,
      `another process took over after kill -9: ${takeoverMs === null ? 'no' : `${seconds(takeoverMs)} later; longest gap between two runs ${seconds(longestGapMs)}`}`,
    ),
  ]
  console.log(`\n${lines.join('\n')}\n`)
  if (json) console.log(JSON.stringify({ fires, ...verdict }))
  return duplicates === 0 && overlaps === 0 && takeoverMs !== null ? 0 : 1
}

function line(good: boolean, text: string): string {
  return `  ${good ? paint('green', '✓') : paint('red', '✗')} ${good ? text : paint('red', text)}`
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
