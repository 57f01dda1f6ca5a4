import { writeEvents } from '../history/events'
import { runHarness } from '../options'
import { table } from '../table'
import type { Cluster } from './cluster'
import { count, type Figures } from './count'
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

function rowsOf(name: string, { orms, settings }: RunOptions, { faults }: Figures): (string | number)[][] {
  return faults.map(({ fault, times, firstLock, answered, failedBefore, failed, connections }) => [
    ...[name, orms.join(', '), settings, fault, times, span(firstLock), span(answered), failedBefore, failed],
    ...[connections.reduce((sum, { opened }) => sum + opened, 0), connections.at(-1)?.left ?? 0],
  ])
}

function printFindings({ runs, lost, errors, findings, violations }: Figures): void {
  // Whether they broke a rule or were excused.
  const found = ['exclusion', 'slots', 'tokens', 'ends', 'errors'].map(
    (rule) => `${findings.filter((finding) => finding.rule === rule).length} × ${rule}`,
  )
  console.log(`${runs} runs, ${lost} locks lost, findings: ${found.join(', ')}`)
  for (const [error, times] of Object.entries(errors)) console.log(`  ${times} × ${error.slice(0, 200)}`)
  for (const { rule, what, excused } of findings)
    if (excused !== undefined) console.log(`  ${rule}, excused: ${what.split('\n')[0]} (${excused})`)
  for (const violation of violations) console.log(`BROKEN: ${violation}`)
}

async function runAll(options: FailoverOptions): Promise<void> {
  const rows: (string | number)[][] = []
  for (const { name, start, roundsOn } of setUps(options)) {
    const cluster = await start()
    try {
      const { title, version } = cluster
      for (const round of roundsOn(cluster)) {
        console.log(`${title}: ${version}, ${round.orms.join(', ')}, seed ${round.seed}`)
        const events = await failoverRun(cluster, round, (line) => console.error(line))
        if (options.keep !== undefined) writeEvents(options.keep, events)
        const figures = count(events)
        if (figures.violations.length > 0) process.exitCode = 1
        printFindings(figures)
        rows.push(...rowsOf(name, round, figures))
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
