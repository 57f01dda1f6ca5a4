import { View, parse } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { displayName, isFloorOfClient, RAW, READ } from './floor'
import type { Measured } from './measure'
import type { BlockedRow, DatabaseResults, Results, Thaw } from './results'

/** What happened to an app's connections. */
export interface Faults {
  readonly blockedRow: readonly BlockedRow[]
  readonly thaw: readonly Thaw[]
}

/** Draws the results as pictures. Returns each SVG by its file name. */
export async function charts(
  { databases }: Results,
  { blockedRow, thaw }: Faults,
): Promise<Record<string, string>> {
  const all = Object.entries(databases)
  const slowest = (row: BlockedRow['row']) =>
    blockedRow.filter((one) => one.row === row).map((one) => barOf(one, one.p99))
  const first = (death: Thaw['death']) =>
    thaw.filter((one) => one.death === death).map((one) => barOf(one, one.p50))
  return {
    'at-a-glance.svg': await draw(atAGlance(databases['postgres']?.operations ?? [])),
    'lose.svg': await draw(operationCharts(all, 'lose')),
    'win-and-release.svg': await draw(operationCharts(all, 'win + release')),
    'contenders.svg': await draw(contendersChart(all)),
    'rows.svg': await draw(rowsChart(all)),
    'blocked-row.svg': await draw(
      panels({
        'The lock is held: ms': slowest('held'),
        'Somebody has locked its row: ms': slowest('locked'),
      }),
    ),
    'thaw.svg': await draw(
      panels({
        'Connections ended by the server: ms': first('ended by the server'),
        'Silent connections: ms': first('silent'),
      }),
    ),
  }
}

type All = readonly (readonly [database: string, results: DatabaseResults])[]

/** In pixels: the column on a phone, so that text is not scaled down there. */
const WIDTH = 342
const PLOT_WIDTH = 270
const FONT_SIZE = 12
/** Each colour for a light page and for a dark one. */
const COLOURS = {
  page: ['#ffffff', '#12171e'],
  ink: ['#1f2328', '#e4e8ef'],
  dim: ['#59636e', '#a3adbd'],
  line: ['#d1d9e0', '#3d444d'],
  ours: ['#1a7f45', '#35a563'],
  raw: ['#818b98', '#7d8590'],
  others: ['#b7791f', '#d9a441'],
  postgres: ['#2f6fab', '#6cb0f0'],
  mariadb: ['#8a4fbf', '#c297f0'],
  mysql: ['#b35312', '#f0a063'],
  sqlite: ['#1a7f46', '#56cf8a'],
} as const
const light = (colour: keyof typeof COLOURS): string => COLOURS[colour][0]

const TEXT = {
  labelColor: light('dim'),
  titleColor: light('ink'),
  labelFontSize: FONT_SIZE,
  titleFontSize: FONT_SIZE,
}
const STYLE = {
  $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
  background: light('page'),
  padding: 10,
  config: {
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    text: { color: light('ink'), fontSize: FONT_SIZE },
    title: { color: light('ink'), fontSize: 14, anchor: 'start', offset: 8 },
    axis: { grid: false, domainColor: light('line'), tickColor: light('line'), ...TEXT },
    legend: { orient: 'top', direction: 'horizontal', columns: 2, offset: 8, title: null, ...TEXT },
    header: TEXT,
  },
} as const

async function draw(specification: TopLevelSpec): Promise<string> {
  const { spec } = compile(specification)
  const view = new View(parse(spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${inBothSchemes(svg)}\n`
}

/** A picture follows the colour scheme of the page that shows it. Vega overrates how wide texts are, so the width is set here. */
function inBothSchemes(svg: string): string {
  const dark = Object.values(COLOURS).flatMap(([onLight, onDark]) =>
    ['fill', 'stroke'].map((what) => `[${what}="${onLight}"] { ${what}: ${onDark} }`),
  )
  const style = `<style>@media (prefers-color-scheme: dark) { ${dark.join(' ')} }</style>`
  return svg
    .replace(/(<svg [^>]*?)width="[\d.]+"/, `$1width="${WIDTH}"`)
    .replace(/viewBox="0 0 [\d.]+/, `viewBox="0 0 ${WIDTH}`)
    .replace(/<svg [^>]*>/, (start) => `${start}${style}`)
}

interface Bar {
  readonly who: string
  readonly value: number
  readonly kind: 'shedlock-orm' | 'raw driver' | 'others'
}

/** Compares what most people compare: ours, another library, the database's own lock, and Redis. */
function atAGlance(operations: readonly Measured[]): TopLevelSpec {
  const chosen = {
    'ours: TypeORM': 'shedlock-orm, TypeORM',
    'ours: Prisma': 'shedlock-orm, Prisma',
    'verrou (knex)': 'verrou',
    'pg advisory lock (no lease)': 'advisory lock (does not expire)',
    'Redis SET NX PX (as BullMQ)': 'Redis',
  }
  const of = (scenario: string): Bar[] =>
    Object.entries(chosen).flatMap(([who, name]) => {
      const one = operations.find((each) => each.scenario === scenario && each.who === who)
      return one ? [{ ...bar(one), who: name }] : []
    })
  return panels({
    'PostgreSQL, skip: µs': of('lose'),
    'PostgreSQL, acquire and release: µs': of('win + release'),
  })
}

function operationCharts(all: All, scenario: 'lose' | 'win + release'): TopLevelSpec {
  const title = { lose: 'skip: µs', 'win + release': 'acquire and release: µs' }[scenario]
  const isShown = (one: Measured): boolean =>
    one.scenario === scenario
      ? !isFloorOfClient(one.who)
      : scenario === 'lose' && one.scenario === READ && one.who === RAW
  return panels(
    Object.fromEntries(
      all.map(([database, { operations }]) => [`${database}, ${title}`, operations.filter(isShown).map(bar)]),
    ),
  )
}

function bar(one: Measured): Bar {
  const kind = one.who.startsWith('ours') ? 'shedlock-orm' : one.who.startsWith(RAW) ? RAW : 'others'
  return { who: displayName(one), value: one.median, kind }
}

const barOf = ({ server, orm }: BlockedRow | Thaw, value: number): Bar => ({
  who: `${server}, ${orm}`,
  value,
  kind: 'shedlock-orm',
})

/** Draws bars from the fastest to the slowest, all on one scale. Each name is above its bar, where it is never cut. */
function panels(bars: Readonly<Record<string, readonly Bar[]>>): TopLevelSpec {
  const longest = Math.max(...Object.values(bars).flatMap((some) => some.map(({ value }) => value)))
  const x = { type: 'quantitative', title: null, axis: null, scale: { domain: [0, longest] } }
  const kinds = { 'shedlock-orm': light('ours'), [RAW]: light('raw'), others: light('others') }
  const shown = Object.entries(kinds).filter(([kind]) =>
    Object.values(bars).some((some) => some.some((one) => one.kind === kind)),
  )
  const color = {
    field: 'kind',
    type: 'nominal',
    scale: { domain: shown.map(([kind]) => kind), range: shown.map(([, colour]) => colour) },
  }
  const panel = ([text, values]: [string, readonly Bar[]]) => {
    const sorted = values.toSorted((one, other) => one.value - other.value)
    const y = {
      field: 'who',
      type: 'nominal',
      sort: sorted.map(({ who }) => who),
      axis: null,
    } as const
    return {
      title: { text },
      data: { values: sorted },
      width: PLOT_WIDTH,
      height: { step: 36 },
      layer: [
        {
          mark: { type: 'bar', height: 12, yOffset: 8 },
          encoding: { y, x: { ...x, field: 'value' }, color },
        },
        {
          mark: { type: 'text', align: 'left', dy: -7 },
          encoding: { y, x: { value: 0 }, text: { field: 'who' } },
        },
        {
          mark: { type: 'text', align: 'left', dx: 5, dy: 9 },
          encoding: { y, x: { ...x, field: 'value' }, text: { field: 'value', format: ',.0f' } },
        },
      ],
    }
  }
  return { ...STYLE, vconcat: Object.entries(bars).map(panel) } as unknown as TopLevelSpec
}

function contendersChart(all: All): TopLevelSpec {
  const points = all.flatMap(([database, { contention }]) => {
    return contention.flatMap(({ contenders, timesUncontended, lose, read }) => [
      { database, contenders, what: 'acquisitions, × those without contenders', value: timesUncontended },
      ...[
        { what: 'skip: 99th percentile, × its median', ...lose },
        { what: 'bare read: 99th percentile, × its median', ...read },
      ].flatMap(({ what, median, p99 }) =>
        median === null || p99 === null ? [] : [{ database, contenders, what, value: p99 / median }],
      ),
    ])
  })
  return lines(points, 'contenders', 'contenders, ten attempts a second each', 'symlog')
}

const SCENARIOS: Readonly<Record<string, string>> = { lose: 'skip', 'win + release': 'acquire and release' }

function rowsChart(all: All): TopLevelSpec {
  const points = all.flatMap(([database, { growth }]) =>
    growth.map(({ scenario, rows, median }) => {
      const one = growth.find((other) => other.scenario === scenario && other.rows === 1)?.median ?? NaN
      return {
        database,
        rows,
        what: `${SCENARIOS[scenario] ?? scenario}, × with one row`,
        value: median / one,
      }
    }),
  )
  return lines(points, 'rows', 'rows in the table', 'log')
}

type Point = Readonly<Record<string, string | number>> & { readonly what: string }

/** Draws one plot for each kind of value, one below the other. */
function lines(points: readonly Point[], x: string, title: string, scale: 'log' | 'symlog'): TopLevelSpec {
  const databases = ['postgres', 'mariadb', 'mysql', 'sqlite'] as const
  const values = [...new Set(points.map((point) => Number(point[x])))]
  const plot = (what: string) => ({
    title: { text: what },
    data: { values: points.filter((point) => point.what === what) },
    width: PLOT_WIDTH,
    height: 130,
    mark: { type: 'line', point: true },
    encoding: {
      x: {
        field: x,
        type: 'quantitative',
        title,
        scale: { type: scale },
        axis: { labelOverlap: false, format: '~s', values },
      },
      y: { field: 'value', type: 'quantitative', title: null, scale: { zero: true }, axis: { tickCount: 4 } },
      color: {
        field: 'database',
        type: 'nominal',
        scale: { domain: databases, range: databases.map(light) },
      },
    },
  })
  return {
    ...STYLE,
    vconcat: [...new Set(points.map(({ what }) => what))].map(plot),
  } as unknown as TopLevelSpec
}
