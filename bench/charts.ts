import { View, parse } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { OUR_STATEMENTS, RAW } from './floor'
import type { Measured } from './measure'
import type { DatabaseResults, Results } from './results'

/** Draws the results as pictures. Returns each SVG by its file name. */
export async function charts({ databases }: Results): Promise<Record<string, string>> {
  const all = Object.entries(databases)
  return {
    'lose.svg': await draw(operationChart(all, 'lose', 'Finding the lock held: median µs')),
    'win-and-release.svg': await draw(
      operationChart(all, 'win + release', 'Acquiring and releasing: median µs'),
    ),
    'contenders.svg': await draw(contendersChart(all)),
    'rows.svg': await draw(rowsChart(all)),
  }
}

type All = readonly (readonly [database: string, results: DatabaseResults])[]

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v5.json'
const OURS = '#0b6e4f'
const STYLE = {
  $schema: SCHEMA,
  background: 'white',
  padding: 12,
  config: { font: 'system-ui, sans-serif', view: { stroke: null }, axis: { grid: false } },
} as const

async function draw(specification: TopLevelSpec): Promise<string> {
  const { spec } = compile(specification)
  const view = new View(parse(spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${svg}\n`
}

/** Draws bars from the fastest to the slowest, with ours in colour. Alternatives to our statements are only in results.json. */
function operationChart(all: All, scenario: string, title: string): TopLevelSpec {
  return {
    ...STYLE,
    title: { text: title, anchor: 'start' },
    vconcat: all.map(([database, { operations }]) => bars(database, operations.filter(isShown(scenario)))),
    resolve: { scale: { x: 'independent', y: 'independent' } },
  }
}

const isShown =
  (scenario: string) =>
  (one: Measured): boolean =>
    one.scenario === scenario
      ? !one.who.startsWith(RAW) || one.who === OUR_STATEMENTS
      : scenario === 'lose' && one.scenario === 'read one row' && one.who === RAW

function bars(database: string, operations: readonly Measured[]) {
  const values = operations
    .toSorted((one, other) => one.median - other.median)
    .map(({ scenario, who, median }) => ({
      who: scenario === 'read one row' ? 'raw driver, a read by primary key' : who,
      median,
      kind: who.startsWith('ours') ? 'ours' : who.startsWith(RAW) ? 'the floor' : 'others',
    }))
  const y = {
    field: 'who',
    type: 'nominal',
    sort: values.map(({ who }) => who),
    title: null,
    axis: { labelLimit: 300, minExtent: 240 },
  } as const
  const color = {
    field: 'kind',
    type: 'nominal',
    scale: { domain: ['ours', 'the floor', 'others'], range: [OURS, '#9aa5b1', '#c9b458'] },
    title: null,
  } as const
  return {
    title: { text: database, anchor: 'start', fontSize: 11 },
    data: { values },
    width: 420,
    height: { step: 18 },
    layer: [
      { mark: 'bar', encoding: { y, x: { field: 'median', type: 'quantitative', title: null }, color } },
      {
        mark: { type: 'text', align: 'left', dx: 4, fontSize: 10 },
        encoding: {
          y,
          x: { field: 'median', type: 'quantitative' },
          text: { field: 'median', type: 'quantitative', format: '.0f' },
        },
      },
    ],
  } satisfies TopLevelSpec
}

function contendersChart(all: All): TopLevelSpec {
  const points = all.flatMap(([database, { contention }]) => {
    return contention.flatMap(({ contenders, timesUncontended, lose, read }) => [
      { database, contenders, what: 'how often it is taken, × uncontended', value: timesUncontended },
      ...[
        { what: 'loser: p99, × its median', ...lose },
        { what: 'mere read: p99, × its median', ...read },
      ].flatMap(({ what, median, p99 }) =>
        median === null || p99 === null ? [] : [{ database, contenders, what, value: p99 / median }],
      ),
    ])
  })
  return lines(
    points,
    'contenders',
    'contenders that ask ten times in a second',
    'One lock, many contenders',
    'symlog',
  )
}

function rowsChart(all: All): TopLevelSpec {
  const points = all.flatMap(([database, { growth }]) =>
    growth.map(({ scenario, rows, median }) => {
      const one = growth.find((other) => other.scenario === scenario && other.rows === 1)?.median ?? NaN
      return { database, rows, what: `${scenario}, × one row`, value: median / one }
    }),
  )
  return lines(points, 'rows', 'rows in the table', 'What a bigger table costs', 'log')
}

function lines(
  points: readonly object[],
  x: string,
  title: string,
  heading: string,
  scale: 'log' | 'symlog',
): TopLevelSpec {
  return {
    ...STYLE,
    title: { text: heading, anchor: 'start' },
    data: { values: [...points] },
    facet: { column: { field: 'what', title: null } },
    resolve: { scale: { y: 'independent' } },
    spec: {
      width: 280,
      height: 180,
      mark: { type: 'line', point: true },
      encoding: {
        x: {
          field: x,
          type: 'quantitative',
          title,
          scale: { type: scale },
          axis: {
            labelOverlap: false,
            format: '~s',
            values: [...new Set(points.map((point) => (point as Record<string, number>)[x] ?? 0))],
          },
        },
        y: { field: 'value', type: 'quantitative', title: null, scale: { zero: true } },
        color: { field: 'database', type: 'nominal', title: null },
      },
    },
  }
}
