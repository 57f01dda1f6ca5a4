import { writeEvents } from '../history/events'
import { report } from '../history/judge'
import { runHarness } from '../options'
import { table } from '../table'
import { chaosRun } from './chaos-run'
import { figuresOf } from './figures'
import { parseOptions, USAGE } from './options'

void runHarness(USAGE, async (args) => {
  const options = parseOptions(args)
  const { version, events, missing } = await chaosRun(options, (line) => console.error(line))
  if (options.keep !== undefined) writeEvents(options.keep, events)
  const { db, seed, workers, minutes } = options
  console.log(`${db}: ${version}, seed ${seed}, ${workers} processes, ${minutes} minutes`)
  for (const [fault, why] of Object.entries(missing)) console.log(`not run: ${fault} – ${why}`)
  const findings = report(events)
  const figures = figuresOf(events, findings)
  console.log(table([Object.keys(figures[0] ?? {}), ...figures.map((row) => Object.values(row))]))
})
