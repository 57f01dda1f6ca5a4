import { timesFloor } from './floors'
import type { DatabaseResults, Results } from './results'
import { digits, table } from './tables'

const SCENARIOS = ['lose', 'win + release', 'extend', 'read one row', 'write one row']

/** What docs/performance.md shows of the results: `npm run bench` prints all of them. */
export function pageTables({ machine, databases, memory, entryPoints, installedBytes }: Results): string {
  const all = Object.entries(databases)
  return [
    `${Object.values(machine).join(', ')}. Median microseconds; _floor_ is what the raw driver needs at least.`,
    ...all.flatMap(([name, results]) => [
      `### ${name} ${results.version.split(/[ -]/)[0] ?? ''}`,
      operations(results),
    ]),
    '### One lock, 64 contenders',
    table(
      ['database', 'acquired and released per second', 'of the pace alone', 'loser µs', 'its p99'],
      all.map(([name, { contention }]) => {
        const most = contention.at(-1)
        return [
          name,
          digits(most?.winsPerSecond ?? null),
          percent(most?.timesUncontended ?? null),
          ...[most?.lose.median ?? null, most?.lose.p99 ?? null].map((value) => digits(value)),
        ]
      }),
    ),
    '### Memory and imports',
    table(
      ['what', 'size'],
      [
        ['a held lock', kilobytes(memory.heldLock)],
        ['a running task', kilobytes(memory.runningTask)],
        ['a running task with `keepAlive`', kilobytes(memory.runningTaskWithKeepAlive)],
        ['the installed package', kilobytes(installedBytes)],
        ...entryPoints.map(({ name, milliseconds, minifiedBytes }) => [
          `\`${name}\``,
          `${kilobytes(minifiedBytes)} minified, loads in ${digits(milliseconds, 1)} ms`,
        ]),
      ],
    ),
  ].join('\n\n')
}

function operations({ operations: times, costs }: DatabaseResults): string {
  return table(
    ['operation', 'who', 'median', '× floor', 'round trips', 'log bytes'],
    SCENARIOS.flatMap((scenario) =>
      times
        .filter((one) => one.scenario === scenario)
        .toSorted((one, other) => one.median - other.median)
        .map((one) => {
          const cost = costs.find(({ scenario, who }) => scenario === one.scenario && who === one.who)
          return [
            ...[scenario, one.who, digits(one.median), digits(timesFloor(times, one), 2)],
            ...[digits(cost?.roundTrips ?? null), digits(cost?.logBytes ?? null)],
          ]
        }),
    ),
  )
}

function kilobytes(bytes: number): string {
  return `${digits(bytes / 1000, 1)} kB`
}

function percent(ratio: number | null): string {
  return ratio === null ? '' : `${digits(ratio * 100)} %`
}
