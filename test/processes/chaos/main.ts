import { writeEvents } from '../history/events'
import { report } from '../history/judge'
import { judge, violationsOf } from '../history/referee'
import { table } from '../table'
import { chaosRun } from './chaos-run'
import { figuresOf } from './figures'
import { parseOptions } from './options'

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2))
  const { version, events, missing } = await chaosRun(options, (line) => {
    if (!options.json) console.error(line)
  })
  if (options.keep !== undefined) writeEvents(options.keep, events)
  const findings = judge(events)
  const figures = figuresOf(events, findings)
  if (options.json) {
    const violations = violationsOf(findings)
    console.log(JSON.stringify({ options, version, figures, missing, violations }, null, 2))
    process.exitCode = violations.length === 0 ? 0 : 1
    return
  }
  console.log(
    `${options.db}: ${version}, seed ${options.seed}, ${options.workers} processes, ${options.minutes} minutes`,
  )
  console.log(table([Object.keys(figures[0] ?? {}), ...figures.map((row) => Object.values(row))]))
  const commits = events.filter((event) => event.type === 'commit')
  console.log(
    `commits: ${commits.filter(({ guarded }) => guarded).length} guarded, ${commits.filter(({ guarded }) => !guarded).length} not`,
  )
  for (const { rule, what, excused } of findings)
    if (excused !== undefined && (rule === 'errors' || what.includes('lost updates')))
      console.log(`${what.split('\n')[0]} (${excused})`)
  for (const [fault, why] of Object.entries(missing)) console.log(`not run: ${fault} – ${why}`)
  report(events)
}

void main()
