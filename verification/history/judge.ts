import { parseArgs } from 'node:util'
import { readEvents, type LockEvent } from './events'
import { grouped } from './history'
import { judge, violationsOf, type Finding } from './referee'

/** Prints the broken promises, and fails if there are any. Counts what breaks none by its reasons. @returns all findings */
export function report(events: readonly LockEvent[]): Finding[] {
  const findings = judge(events)
  const violations = violationsOf(findings)
  for (const { rule, what } of violations.slice(0, 50)) console.log(`BROKEN: ${rule}: ${what}`)
  if (violations.length > 0) process.exitCode = 1
  console.log(violations.length === 0 ? 'Every promise was kept.' : `${violations.length} broken promises.`)
  const excused = findings.filter((finding) => finding.excused !== undefined)
  for (const [why, group] of grouped(excused, (finding) => `${finding.rule}, because ${finding.excused}`))
    console.log(`excused: ${group.length} × ${why}, such as: ${group[0]?.what.split('\n')[0]}`)
  return findings
}

/** `npm run judge -- FILE…`: judges again what a harness kept with `--keep`. */
if (require.main === module) {
  const { positionals } = parseArgs({ allowPositionals: true })
  if (positionals.length === 0) throw new Error('npm run judge -- FILE…')
  for (const file of positionals) {
    console.log(file)
    report(readEvents(file))
  }
}
