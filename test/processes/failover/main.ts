import { generateClients } from '../../prisma/generate-clients'
import { writeEvents } from '../history/events'
import { count, type Figures } from './count'
import type { Cluster } from './cluster'
import { countConnections } from './count-connections'
import { failoverRun, type RunOptions } from './failover-run'
import { CLUSTERS, DATABASES, parseOptions, USAGE, WrongUsage, type FailoverOptions } from './options'
import { isSingle, singleServer } from './single-server'
import { table } from '../table'

const seconds = (milliseconds: number): string =>
  milliseconds === Infinity ? 'never' : (milliseconds / 1_000).toFixed(2)
const median = (times: readonly number[]): number =>
  [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
const span = (times: readonly number[]): string =>
  `${seconds(median(times))} / ${seconds(Math.max(...times))}`

/** How many findings of the referee broke a rule or were excused. */
const byRule = (findings: Figures['findings']): string =>
  ['exclusion', 'slots', 'tokens', 'ends', 'errors']
    .map((rule) => `${findings.filter((finding) => finding.rule === rule).length} × ${rule}`)
    .join(', ')

function report({ runs, lost, faults, errors, findings, violations }: Figures): void {
  console.log(
    table([
      [
        'fault',
        'times',
        'first lock after (median / longest)',
        's, every process answered after',
        's, attempts failed since',
      ],
      ...faults.map(({ fault, times, firstLock, answered, failed }) => [
        fault,
        times,
        span(firstLock),
        span(answered),
        failed,
      ]),
    ]),
  )
  console.log(`${runs} runs, ${lost} locks lost, findings: ${byRule(findings)}`)
  for (const [error, times] of Object.entries(errors)) console.log(`  ${times} × ${error.slice(0, 200)}`)
  for (const { rule, what, excused } of findings)
    if (excused !== undefined) console.log(`  ${rule}, excused: ${what.split('\n')[0]} (${excused})`)
  for (const violation of violations) console.log(`BROKEN: ${violation}`)
}

async function run(cluster: Cluster, options: RunOptions): Promise<Figures> {
  const events = await failoverRun(cluster, options, (line) => console.error(line))
  if (options.keep !== undefined) writeEvents(options.keep, events)
  const figures = count(events)
  if (figures.violations.length > 0) process.exitCode = 1
  return figures
}

/** Lets servers change their roles. */
async function changeRoles({ clusters, asynchronous, json, ...options }: FailoverOptions): Promise<void> {
  for (const name of clusters) {
    const cluster = await CLUSTERS[name]?.({ asynchronous })
    if (!cluster) continue
    try {
      if (!json) console.log(`${cluster.title}: ${cluster.version}, seed ${options.seed}`)
      const figures = await run(cluster, { ...options, settings: 'documented', patience: 20_000 })
      if (json)
        console.log(
          JSON.stringify({ title: cluster.title, version: cluster.version, ...options, ...figures }),
        )
      else report(figures)
    } finally {
      await cluster.close()
    }
  }
}

const HEADER = [
  'database',
  'client',
  'settings',
  'fault',
  'first lock after s',
  'all answered after s',
  'errors meanwhile',
  'errors since',
  'connections opened',
  'left',
  'overlaps',
  'slots twice',
  'ended by driver',
]

/** Harms connections in one way after the other, each time those of new processes. */
async function harmConnections({ databases, json, ...options }: FailoverOptions): Promise<void> {
  const rows: (readonly (string | number)[])[] = [HEADER]
  for (const database of databases)
    for (const settings of options.settings) {
      const cluster = await DATABASES[database]?.(settings, options.outage)
      if (!cluster) continue
      try {
        const faults = options.faults.length > 0 ? options.faults : Object.keys(cluster.faults)
        for (const fault of faults)
          for (const orm of options.orms) {
            const once = { minutes: 0, seed: options.seed, patience: 30_000, keep: options.keep }
            const figures = await run(cluster, { ...once, settings, orms: [orm], faults: [fault] })
            if (json)
              console.log(JSON.stringify({ database, orm, settings, outage: options.outage, ...figures }))
            rows.push([database, orm, settings, fault, ...cells(figures)])
            for (const [error, times] of Object.entries(figures.errors))
              console.error(`  ${times} × ${error}`)
            for (const violation of figures.violations) console.error(`  BROKEN: ${violation}`)
          }
      } finally {
        await cluster.close()
      }
    }
  if (!json && rows.length > 1) console.log(table(rows))
}

function cells({ faults, findings }: Figures): (string | number)[] {
  return faults.flatMap(({ firstLock, answered, failedBefore, failed, connections }) => [
    ...[...firstLock, ...answered].map(seconds),
    failedBefore,
    failed,
    ...connections.flatMap(({ opened, left }) => [opened, left]),
    ...['exclusion', 'slots', 'errors'].map(
      (rule) => findings.filter((finding) => finding.rule === rule).length,
    ),
  ])
}

async function countAll({ databases, orms, settings, json }: FailoverOptions): Promise<void> {
  const rows: (readonly (string | number)[])[] = [
    ['database', 'client', 'settings', 'calls', 'connections opened', 'left', 's'],
  ]
  await generateClients()
  for (const database of databases) {
    if (!isSingle(database)) throw new WrongUsage(`'${database}' is not a single server.`)
    const server = await singleServer(database, 0)
    try {
      for (const orm of orms)
        for (const setting of settings)
          for (const calls of [1, 10]) {
            const counted = await countConnections(server, { orm, settings: setting, calls })
            if (json) console.log(JSON.stringify({ database, orm, settings: setting, calls, ...counted }))
            rows.push([
              database,
              orm,
              setting,
              calls,
              counted.opened,
              counted.left,
              seconds(counted.milliseconds),
            ])
          }
    } finally {
      await server.close()
    }
  }
  if (!json && rows.length > 1) console.log(table(rows))
}

async function main(): Promise<void> {
  // Each server that this process starts adds an exit listener, so that it ends with the process, also on a signal.
  process.setMaxListeners(0)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  try {
    const options = parseOptions(process.argv.slice(2))
    await changeRoles(options)
    await (options.connections ? countAll(options) : harmConnections(options))
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error
    if (error.message) console.error(`${error.message}\n`)
    console.log(USAGE)
    process.exitCode = error.message ? 64 : 0
  }
}

void main()
