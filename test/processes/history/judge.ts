import { parseArgs } from 'node:util'
import { readEvents, type LockEvent } from './events'
import { judge, violationsOf, type Finding } from './referee'

/** Prints the broken promises, and fails if there are any. @returns all findings */
export function report(events: readonly LockEvent[]): Finding[] {
  const findings = judge(events)
  const violations = violationsOf(findings)
  for (const { rule, what } of violations.slice(0, 50)) console.log(`BROKEN: ${rule}: ${what}`)
  if (violations.length > 0) process.exitCode = 1
  console.log(violations.length === 0 ? 'Every promise was kept.' : `${violations.length} broken promises.`)
  return findings
}

/** `npm run judge -- FILE…`: judges again what a harness kept with `--keep`. */
if (require.main === module) {
  const { positionals } = parseArgs({ allowPositionals: true })
  if (positionals.length === 0) throw new Error('npm run judge -- FILE…')
  for (const file of positionals) {
    console.log(file)
    const excused = report(readEvents(file)).filter((finding) => finding.excused !== undefined)
    for (const reason of new Set(excused.map((finding) => finding.excused)))
      console.log(
        `excused: ${excused.filter((finding) => finding.excused === reason).length} times ${reason}`,
      )
  }
}
