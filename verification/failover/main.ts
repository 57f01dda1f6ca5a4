import { writeEvents } from '../history/events'
import { report } from '../history/judge'
import { runHarness } from '../options'
import { table } from '../table'
import type { Cluster } from './cluster'
import { count, type FaultFigures } from './count'
import { failoverRun, type RunOptions } from './failover-run'
import { CLUSTERS, DATABASES, parseOptions, USAGE, type FailoverOptions } from './options'

/** Servers that are started once, and what is done to them. */
interface SetUp {
  readonly name: string
  readonly start: () => Promise<Cluster>
  readonly roundsOn: (cluster: Cluster) => readonly RunOptions[]
}

/** Servers change their roles; or connections are harmed in one way after the other, each time those of new processes. */
function setUps({ clusters, databases, asynchronous, outage, ...options }: FailoverOptions): SetUp[] {
  return [
    ...clusters.map((name) => ({
      name,
      start: () => CLUSTERS[name]({ asynchronous }),
      roundsOn: () => [{ ...options, settings: 'documented', patience: 20_000 } as const],
    })),
    ...databases.flatMap((name) =>
      options.settings.map((settings) => ({
        name,
        start: () => DATABASES[name](settings, outage),
        roundsOn: (cluster: Cluster) =>
          (options.faults.length > 0 ? options.faults : Object.keys(cluster.faults)).flatMap((fault) =>
            options.orms.map((orm) => ({
              ...{ minutes: 0, seed: options.seed, settings, orms: [orm], faults: [fault], patience: 30_000 },
            })),
          ),
      })),
    ),
  ]
}

const seconds = (milliseconds: number): string =>
  milliseconds === Infinity ? 'never' : (milliseconds / 1_000).toFixed(2)
const span = (times: readonly number[]): string => {
  const median = times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
  return times.length === 1 ? seconds(median) : `${seconds(median)} / ${seconds(Math.max(...times))}`
}

const HEADER = [
  ...['servers', 'clients', 'settings', 'fault', 'times', 'first lock after s (median / longest)'],
  ...['all answered after s', 'errors meanwhile', 'errors since', 'connections opened', 'left'],
]

type Row = readonly (string | number)[]

function rowOf(name: string, { orms, settings }: RunOptions, figures: FaultFigures): Row {
  const { fault, times, firstLock, answered, failedBefore, failed, connections } = figures
  return [
    ...[name, orms.join(', '), settings, fault, times, span(firstLock), span(answered), failedBefore, failed],
    ...[connections.reduce((sum, { opened }) => sum + opened, 0), connections.at(-1)?.left ?? 0],
  ]
}

async function runAll(options: FailoverOptions): Promise<void> {
  const rows: Row[] = []
  for (const { name, start, roundsOn } of setUps(options)) {
    const cluster = await start()
    try {
      const { title, version } = cluster
      for (const round of roundsOn(cluster)) {
        console.log(`${title}: ${version}, ${round.orms.join(', ')}, seed ${round.seed}`)
        const events = await failoverRun(cluster, round, (line) => console.error(line))
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
        rows.push(...faults.map((figures) => rowOf(name, round, figures)))
      }
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
