import { count, type Figures } from './count'
import { failoverRun } from './failover-run'
import { CLUSTERS, parseOptions } from './options'

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(2)
const median = (times: readonly number[]): number =>
  [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
const span = (times: readonly number[]): string =>
  `${seconds(median(times))} / ${seconds(Math.max(...times))}`

function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, column) => String(cell).padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function report({ faults, errors, violations, ...counts }: Figures): void {
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
  console.log(
    `${counts.sections} sections, ${counts.overlaps.length} overlaps, ${counts.slotsTwice} slots run twice, ${counts.fallingTokens} falling tokens, ${counts.lost} locks lost, ${counts.heldByNobody.length} rows held by nobody${counts.heldByNobody.length > 0 ? ` for up to ${seconds(Math.max(...counts.heldByNobody))} s` : ''}`,
  )
  if (counts.driverCrashes > 0)
    console.log(
      `${counts.driverCrashes} processes ended because a driver threw an error in its socket's event handlers`,
    )
  for (const [error, times] of Object.entries(errors)) console.log(`  ${times} × ${error.slice(0, 200)}`)
  for (const { job, fault, milliseconds } of counts.overlaps)
    console.log(`  overlap of ${milliseconds} ms: ${job}, after ${fault}`)
  for (const violation of violations) console.log(`BROKEN: ${violation}`)
}

async function main(): Promise<void> {
  // Each server that this process starts adds an exit listener, so that it ends with the process, also on a signal.
  process.setMaxListeners(0)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const { clusters, asynchronous, json, ...options } = parseOptions(process.argv.slice(2))
  for (const name of clusters) {
    const cluster = await CLUSTERS[name]?.({ asynchronous })
    if (!cluster) continue
    try {
      if (!json) console.log(`${cluster.title}: ${cluster.version}, seed ${options.seed}`)
      const history = await failoverRun(cluster, options, (line) => console.error(line))
      const figures = count(history, cluster.loses)
      if (json)
        console.log(
          JSON.stringify({ title: cluster.title, version: cluster.version, ...options, ...figures }),
        )
      else report(figures)
      if (figures.violations.length > 0) process.exitCode = 1
    } finally {
      await cluster.close()
    }
  }
}

void main()
