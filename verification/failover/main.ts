import { writeEvents } from '../history/events'
import { report } from '../history/judge'
import { runHarness } from '../options'
import { table } from '../table'
import { count, type FaultFigures } from './count'
import { failoverRun } from './failover-run'
import { CLUSTERS, parseOptions, USAGE, type FailoverOptions } from './options'

const seconds = (milliseconds: number): string =>
  milliseconds === Infinity ? 'never' : (milliseconds / 1_000).toFixed(2)
const span = (times: readonly number[]): string => {
  const median = times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
  return times.length === 1 ? seconds(median) : `${seconds(median)} / ${seconds(Math.max(...times))}`
}

const HEADER = [
  ...['servers', 'fault', 'times', 'first lock after s (median / longest)', 'all answered after s'],
  ...['errors meanwhile', 'errors since'],
]

type Row = readonly (string | number)[]

function rowOf(cluster: string, figures: FaultFigures): Row {
  const { fault, times, firstLock, answered, failedBefore, failed } = figures
  return [...[cluster, fault, times, span(firstLock), span(answered), failedBefore, failed]]
}

async function runAll(options: FailoverOptions): Promise<void> {
  const rows: Row[] = []
  for (const name of options.clusters) {
    const cluster = await CLUSTERS[name](options)
    try {
      console.log(`${cluster.title}: ${cluster.version}, ${options.orms.join(', ')}, seed ${options.seed}`)
      const events = await failoverRun(cluster, options, (line) => console.error(line))
      if (options.keep !== undefined) writeEvents(options.keep, events)
      report(events)
      const { runs, lost, errors, faults } = count(events)
      console.log(`${runs} runs, ${lost} locks lost`)
      for (const [error, failed] of errors) console.log(`  ${failed.length} × ${error.slice(0, 200)}`)
      for (const { fault, firstLock, answered } of faults) {
        // Slow answers break no promise, because a busy machine delays them.
        if (![...firstLock, ...answered].includes(Infinity)) continue
        console.log(`BROKEN: ${fault}: a process got no answer from the new primary`)
        process.exitCode = 1
      }
      rows.push(...faults.map((figures) => rowOf(name, figures)))
    } finally {
      await cluster.close()
    }
  }
  console.log(table([HEADER, ...rows]))
}

void runHarness(USAGE, (args) => {
  // Each server that this process starts adds an exit listener, so that it ends with the process, also on a signal.
  process.setMaxListeners(0)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  return runAll(parseOptions(args))
})
