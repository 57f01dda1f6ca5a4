import { displayName, isFloorOfClient, RAW } from './floor'
import { timesFloor, timesOwnClient } from './floors'
import { ABOUT_PEERS, databaseName } from './names'
import type { DatabaseResults, Results } from './results'
import { digits, table } from './tables'

/** Those whose rows only bench/figures.md shows. */
const ONLY_IN_FIGURES = /SKIP LOCKED|pg-boss|redlock|text protocol/

/** What the tables and sentences call the two operations that users compare. */
const OPERATIONS = { lose: 'skip', 'win + release': 'acquire and release' } as const
type Scenario = keyof typeof OPERATIONS
const SCENARIOS = Object.keys(OPERATIONS) as Scenario[]

/** Returns the tables of docs/performance.md: what each client needs for a skip, and for acquire and release. */
export function summary(results: Results): string {
  const { machine, measured, databases } = results
  const all = Object.entries(databases)
  const rows = (scenario: Scenario): string[][] =>
    clientsOf(results).map((who) => [
      displayName({ scenario, who }),
      ...all.map(([, { operations: times }]) => digits(find(times, scenario, who)?.median ?? null)),
    ])
  const heads = all.map(([name, { version }]) => `${databaseName(name)} ${version.split(/[ -]/)[0] ?? ''}`)
  return [
    `Measured on ${measured.date} at commit \`${measured.commit}\` on ${machine['processor'] ?? ''}, ${machine['cores'] ?? ''} cores, Node.js ${machine['node'] ?? ''}, in median microseconds:`,
    ...SCENARIOS.map((scenario) => table([OPERATIONS[scenario], ...heads], rows(scenario))),
    `A skip takes ${range(results, 'lose', 'TypeORM')} times as long as one read through TypeORM, and ${range(results, 'lose', 'Prisma')} times through Prisma. Acquire and release take ${range(results, 'win + release', 'TypeORM')} and ${range(results, 'win + release', 'Prisma')} times as long as the same statements sent by hand.`,
  ].join('\n\n')
}

/** Returns those who have a row on the page. */
function clientsOf({ databases }: Results): string[] {
  const names = Object.values(databases).flatMap(({ operations: times }) =>
    times
      .filter(
        ({ scenario, who }) =>
          scenario === 'win + release' &&
          !who.includes(', with') &&
          !isFloorOfClient(who) &&
          !ONLY_IN_FIGURES.test(who),
      )
      .map(({ who }) => who),
  )
  return [...new Set(names)]
}

type Times = DatabaseResults['operations']

const find = (times: Times, scenario: string, who: string): Times[number] | undefined =>
  times.find((one) => one.scenario === scenario && one.who === who)

/** Returns how many times as long as its client needs anyway a lock takes, from the least on all databases to the most. */
function range({ databases }: Results, scenario: Scenario, orm: string): string {
  const ratios = Object.values(databases).flatMap(({ operations: times }) => {
    const one = find(times, scenario, `ours: ${orm}`)
    return one ? [timesOwnClient(times, one)] : []
  })
  return `${digits(Math.min(...ratios), 1)} to ${digits(Math.max(...ratios), 1)}`
}

/** Returns the table of how many times as long as its client needs anyway a lock takes on each database. */
function timesOfClients({ databases }: Results): string {
  const all = Object.entries(databases)
  const ours = new Set(
    all.flatMap(([, { operations: times }]) =>
      times.filter(({ who }) => who.startsWith('ours')).map(({ who }) => who),
    ),
  )
  const rows = [...ours].flatMap((who) =>
    SCENARIOS.map((scenario) => [
      displayName({ scenario, who }),
      OPERATIONS[scenario],
      ...all.map(([, { operations: times }]) => {
        const one = find(times, scenario, who)
        return one ? digits(timesOwnClient(times, one), 2) : ''
      }),
    ]),
  )
  return table(['who', 'operation', ...all.map(([name]) => databaseName(name))], rows)
}

/** Returns the tables of bench/figures.md. `npm run bench` prints all results. */
export function allTables(results: Results): string {
  const { machine, measured, contendersMeasured, databases, memory, day, entryPoints, installedBytes } =
    results
  const all = Object.entries(databases)
  return [
    `Measured on ${measured.date} at commit \`${measured.commit}\` on ${machine['processor'] ?? ''}, ${machine['cores'] ?? ''} cores, Node.js ${machine['node'] ?? ''}. Times are median microseconds. The first × compares a skip with a bare read by primary key through the raw driver, the second compares acquire and release with the same statements through it. Round trips and log bytes are those of a skip, then of acquire and release. ${ABOUT_PEERS}`,
    ...all.flatMap(([name, ofDatabase]) => [
      `### ${databaseName(name)} ${ofDatabase.version.split(/[ -]/)[0] ?? ''}`,
      operations(ofDatabase),
    ]),
    '### Times what the same client needs for one read, or for the same statements sent by hand',
    timesOfClients(results),
    ...networks(all),
    '### One lock, 64 contenders',
    ...(contendersMeasured === undefined
      ? []
      : [
          `Measured at commit \`${contendersMeasured}\`, on another machine: do not compare its times with those above.`,
        ]),
    table(
      ['database', 'acquired and released per second', 'of the pace alone', 'loser µs', 'its p99'],
      all.map(([name, { contention }]) => {
        const most = contention.at(-1)
        return [
          databaseName(name),
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
        ['a held lock of verrou', kilobytes(memory.heldLockOfVerrou)],
        ...quarters(day),
        ['the installed package', kilobytes(installedBytes)],
        ...entryPoints.map(({ name, milliseconds, heapBytes, minifiedBytes }) => [
          `\`${name}\``,
          `${kilobytes(minifiedBytes)} minified, loads in ${digits(milliseconds, 1)} ms, ${kilobytes(heapBytes)} of heap`,
        ]),
      ],
    ),
  ].join('\n\n')
}

/** Prints milliseconds: with a distant server, only round trips matter. */
function networks(all: readonly (readonly [string, DatabaseResults])[]): string[] {
  const rows = all.flatMap(([name, { network = [] }]) => {
    const clients = new Set(network.flatMap(({ operations }) => operations.map(({ who }) => who)))
    return [...clients]
      .filter((who) => who !== RAW)
      .map((who) => [
        databaseName(name),
        displayName({ scenario: 'lose', who }),
        ...['lose', 'win + release'].flatMap((scenario) =>
          network.map(({ operations }) => {
            const one = operations.find((other) => other.scenario === scenario && other.who === who)
            return digits(one ? one.median / 1000 : null, 1)
          }),
        ),
      ])
  })
  if (rows.length === 0) return []
  const head = ['database', 'who', 'skip, 1 ms away', '10 ms', 'acquire + release, 1 ms away', '10 ms']
  return ['### With a network between, in milliseconds', table(head, rows)]
}

/** One row for each client: what it costs to find the lock held, and to acquire and release it. */
function operations({ operations: times, costs }: DatabaseResults): string {
  const clients = times
    .filter(({ scenario }) => scenario === 'win + release')
    .toSorted((one, other) => one.median - other.median)
  return table(
    ['who', 'skip', '× read', 'acquire + release', '× raw driver', 'round trips', 'log bytes'],
    clients.map(({ who }) => {
      const both = ['lose', 'win + release']
      const timed = both.flatMap((scenario) => {
        const one = times.find((other) => other.scenario === scenario && other.who === who)
        return one === undefined ? ['', ''] : [digits(one.median), digits(timesFloor(times, one), 2)]
      })
      const paid = both.map((scenario) =>
        costs.find((cost) => cost.scenario === scenario && cost.who === who),
      )
      const sum = (of: 'roundTrips' | 'logBytes'): string =>
        paid.every((cost) => Number.isFinite(cost?.[of]))
          ? paid.map((cost) => digits(cost?.[of] ?? null)).join('; ')
          : ''
      return [displayName({ scenario: 'lose', who }), ...timed, sum('roundTrips'), sum('logBytes')]
    }),
  )
}

/** Compares the last quarter of the day with the first, to show whether anything grows. */
function quarters(day: Results['day']): string[][] {
  const [first, last] = [day?.at(0), day?.at(-1)]
  if (!first || !last) return []
  const sizes = [first, last].map(({ heap }) => `${digits(heap / 1e6, 2)} MB`)
  const cpu = digits(last.cpu / first.cpu, 2)
  return [['10,000 jobs, after 6 and 24 simulated hours', `${sizes.join(' and ')}; processor time × ${cpu}`]]
}

function kilobytes(bytes: number): string {
  return `${digits(bytes / 1000, 1)} kB`
}

function percent(ratio: number | null): string {
  return ratio === null ? '' : `${digits(ratio * 100)} %`
}
