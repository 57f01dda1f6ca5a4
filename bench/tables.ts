import { timesFloor, timesOwnClient } from './floors'
import type { DatabaseResults, Results } from './results'

/** Returns all results as Markdown tables. */
export function markdown({
  machine,
  databases,
  memory,
  day = [],
  entryPoints,
  installedBytes,
}: Results): string {
  return [
    Object.values(machine).join(', '),
    ...Object.entries(databases).flatMap(([name, results]) => databaseTables(name, results)),
    '### Memory\n',
    table(
      ['what', 'bytes of heap'],
      [
        ['a lock that is held', digits(memory.heldLock)],
        ['a task that runs', digits(memory.runningTask)],
        ['a task that runs with keepAlive', digits(memory.runningTaskWithKeepAlive)],
        ['a lock of verrou that is held', digits(memory.heldLockOfVerrou)],
      ],
    ),
    '### A simulated day of 10,000 jobs in one process\n',
    table(
      ['hour', 'MB of heap', '× first', 'processor s for 6 hours', '× first'],
      day.map(({ heap, cpu }, index) => [
        ...[digits(6 * (index + 1)), digits(heap / 1e6, 2), digits(heap / (day[0]?.heap ?? NaN), 3)],
        ...[digits(cpu, 1), digits(cpu / (day[0]?.cpu ?? NaN), 2)],
      ]),
    ),
    `### Entry points (${digits(installedBytes / 1000)} kB installed)\n`,
    table(
      ['entry point', 'import ms', '× empty module', 'heap kB', 'minified kB', 'packages it loads'],
      entryPoints.map(({ name, milliseconds, timesEmpty, heapBytes, minifiedBytes, packages }) => [
        name,
        digits(milliseconds, 1),
        digits(timesEmpty),
        digits(heapBytes / 1000),
        digits(minifiedBytes / 1000, 1),
        packages.join(', ') || 'none',
      ]),
    ),
  ].join('\n\n')
}

/** Returns the tables that `--only` prints for a database. */
export function operationTables(
  name: string,
  { version, operations, costs }: Pick<DatabaseResults, 'version' | 'operations' | 'costs'>,
): string[] {
  return [
    `### ${name} ${version}: time of one operation`,
    table(
      ['operation', 'who', 'median µs', 'rounds µs', 'p99 µs', '× floor', '× the same client'],
      operations
        .toSorted((a, b) => a.scenario.localeCompare(b.scenario) || a.median - b.median)
        .map((one) => [
          one.scenario,
          one.who,
          digits(one.median),
          `${digits(one.low)} – ${digits(one.high)}`,
          digits(one.p99),
          digits(timesFloor(operations, one), 2),
          digits(timesOwnClient(operations, one), 2),
        ]),
    ),
    `### ${name}: cost of one operation`,
    table(
      [
        ...['operation', 'who', 'statements', 'round trips', 'log bytes'],
        ...['server CPU µs', 'client CPU µs', 'waits for a locked row'],
      ],
      costs
        .toSorted((a, b) => a.scenario.localeCompare(b.scenario))
        .map((one) => [
          ...[one.scenario, one.who, digits(one.statements), digits(one.roundTrips), digits(one.logBytes)],
          ...[digits(one.serverCpu), digits(one.clientCpu)],
          one.waitsForRow === null ? '' : one.waitsForRow ? 'yes' : 'no',
        ]),
    ),
  ]
}

function databaseTables(name: string, results: DatabaseResults): string[] {
  const { network = [], contention, growth, crowd } = results
  return [
    ...operationTables(name, results),
    ...network.flatMap(({ milliseconds, operations: far }) => [
      `### ${name}: ${milliseconds} ms of network`,
      table(
        ['operation', 'who', 'median µs', '× floor'],
        far.map((one) => [one.scenario, one.who, digits(one.median), digits(timesFloor(far, one), 2)]),
      ),
    ]),
    `### ${name}: one lock, many contenders`,
    table(
      [
        'contenders',
        'taken and released per second',
        '× uncontended',
        'loser µs',
        'its p99',
        'mere read µs',
        'its p99',
      ],
      contention.map(({ contenders, winsPerSecond, timesUncontended, lose, read }) => [
        String(contenders),
        digits(winsPerSecond),
        digits(timesUncontended, 2),
        ...[lose.median, lose.p99, read.median, read.p99].map((value) => digits(value)),
      ]),
    ),
    `### ${name}: rows in the table`,
    table(
      ['operation', 'rows', 'median µs', 'rounds µs'],
      growth.map(({ scenario, rows, median, low, high }) => [
        scenario,
        rows.toLocaleString('en'),
        digits(median),
        `${digits(low)} – ${digits(high)}`,
      ]),
    ),
    `### ${name}: 1,000 locks taken and released at once over 8 connections`,
    table(
      ['who', 'µs each', 'rounds µs'],
      crowd.map(({ who, median, low, high }) => [who, digits(median), `${digits(low)} – ${digits(high)}`]),
    ),
  ]
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Returns an empty string for a value that was not measured. */
export function digits(value: number | null, after = 0): string {
  return value === null || Number.isNaN(value) ? '' : value.toFixed(after)
}
