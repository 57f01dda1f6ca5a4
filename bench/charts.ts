import { View, parse } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import { displayName, isFloorOfClient, RAW, READ } from './floor'
import type { Measured } from './measure'
import { contenderName, databaseName } from './names'
import type { BlockedRow, DatabaseResults, Flood, Results, Soak, Thaw } from './results'

/** What happened to apps and their locks under faults. */
export interface Faults {
  readonly blockedRow: readonly BlockedRow[]
  readonly thaw: readonly Thaw[]
  readonly flood: readonly Flood[]
  readonly soak: readonly Soak[]
}

/** Draws the results as pictures. Returns each SVG by its file name. */
export async function charts(
  { databases }: Results,
  { blockedRow, thaw, flood, soak }: Faults,
): Promise<Record<string, string>> {
  const all = Object.entries(databases)
  const slowest = (row: BlockedRow['row']) =>
    blockedRow.filter((one) => one.row === row).map((one) => barOf(one, one.p99))
  const first = (death: Thaw['death']) =>
    thaw.filter((one) => one.death === death).map((one) => barOf(one, one.p50))
  const longest = (way: string) =>
    flood.filter((one) => one.way === way).map((one) => barOf(one, one.longest))
  const specifications = {
    'at-a-glance': atAGlance(databases['postgres']?.operations ?? []),
    lose: operationCharts(all, 'lose'),
    'win-and-release': operationCharts(all, 'win + release'),
    contenders: contendersChart(all),
    rows: rowsChart(all),
    'blocked-row': panels({
      'The lock is held: ms': slowest('held'),
      'Somebody has locked its row: ms': slowest('locked'),
    }),
    thaw: panels({
      'Connections ended by the server: ms': first('ended by the server'),
      'Silent connections: ms': first('silent'),
    }),
    flood: panels({
      'Connections of their own: ms': longest('own'),
      "The app's pool: ms": longest('app'),
    }),
    soak: soakChart(soak),
  }
  const drawn: Record<string, string> = {}
  for (const [name, plots] of Object.entries(specifications)) {
    drawn[`${name}.svg`] = await draw(plots, WIDE)
    drawn[`${name}-phone.svg`] = await draw(plots, PHONE)
  }
  return drawn
}

type All = readonly (readonly [database: string, results: DatabaseResults])[]

/** The width in pixels of the column that shows a picture, so that text is not scaled down there, and how many plots fit beside each other. */
interface Column {
  readonly width: number
  readonly columns: number
}
const PHONE: Column = { width: 342, columns: 1 }
const WIDE: Column = { width: 684, columns: 2 }
const PLOT_WIDTH = 270
/** Between two plots, for the figure behind the longest bar. */
const BESIDE = 74
const FONT_SIZE = 12
/** Each colour for a light page and for a dark one. */
const COLOURS = {
  page: ['#ffffff', '#161618'],
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

/** Plots one below or beside the other, and how much room one needs above the next for titles and axes. */
interface Chart {
  readonly plots: readonly object[]
  readonly room: number
}

async function draw({ plots, room }: Chart, { width, columns }: Column): Promise<string> {
  // Vega overrates how wide texts are, so what is beside and below a plot is placed by the plots' own sizes.
  const layout = { columns, bounds: 'flush', spacing: { column: BESIDE, row: room } }
  const { spec } = compile({ ...STYLE, ...layout, concat: plots } as unknown as TopLevelSpec)
  const view = new View(parse(spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return `${inBothSchemes(svg, width)}\n`
}

/** A picture follows the colour scheme of the page that shows it, and is a card as wide as its column. */
function inBothSchemes(svg: string, width: number): string {
  const dark = Object.values(COLOURS).flatMap(([onLight, onDark]) =>
    ['fill', 'stroke'].map((what) => `[${what}="${onLight}"] { ${what}: ${onDark} }`),
  )
  const style = `<style>@media (prefers-color-scheme: dark) { ${dark.join(' ')} }</style>`
  return svg
    .replace(/(<svg [^>]*?)width="[\d.]+"/, `$1width="${width}"`)
    .replace(/viewBox="0 0 [\d.]+/, `viewBox="0 0 ${width}`)
    .replace(/<svg [^>]*>/, (start) => `${start}${style}`)
    .replace(
      /<rect width="[\d.]+" height="([\d.]+)"/,
      (_, height: string) =>
        `<rect x="0.5" y="0.5" width="${width - 1}" height="${Number(height) - 1}" rx="8" stroke="${light('line')}"`,
    )
}

interface Bar {
  readonly who: string
  readonly value: number
  readonly kind: 'shedlock-orm' | 'raw driver' | 'others'
}

/** Compares what most people compare: ours, another library, the database's own lock, and Redis. */
function atAGlance(operations: readonly Measured[]): Chart {
  const chosen = ['shedlock-orm, TypeORM', 'shedlock-orm, Prisma', 'verrou', 'advisory lock', 'Redis']
  const of = (scenario: string): Bar[] =>
    operations.filter((one) => one.scenario === scenario && chosen.includes(contenderName(one.who))).map(bar)
  return panels({
    'PostgreSQL, skip: µs': of('lose'),
    'PostgreSQL, acquire and release: µs': of('win + release'),
  })
}

function operationCharts(all: All, scenario: 'lose' | 'win + release'): Chart {
  const title = { lose: 'skip: µs', 'win + release': 'acquire and release: µs' }[scenario]
  const isShown = (one: Measured): boolean =>
    one.scenario === scenario
      ? !isFloorOfClient(one.who)
      : scenario === 'lose' && one.scenario === READ && one.who === RAW
  return panels(
    Object.fromEntries(
      all.map(([database, { operations }]) => [
        `${databaseName(database)}, ${title}`,
        operations.filter(isShown).map(bar),
      ]),
    ),
  )
}

function bar(one: Measured): Bar {
  const kind = one.who.startsWith('ours') ? 'shedlock-orm' : one.who.startsWith(RAW) ? RAW : 'others'
  return { who: displayName(one), value: one.median, kind }
}

const barOf = ({ server, orm }: BlockedRow | Thaw | Flood, value: number): Bar => ({
  who: `${databaseName(server)}, ${orm}`,
  value,
  kind: 'shedlock-orm',
})

/** Draws bars from the fastest to the slowest, all on one scale. Each name is above its bar, where it is never cut. */
function panels(bars: Readonly<Record<string, readonly Bar[]>>): Chart {
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
  return { plots: Object.entries(bars).map(panel), room: 52 }
}

function contendersChart(all: All): Chart {
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
  return lines(points, 'contenders', 'contenders, 80 or 320 attempts a second', 'symlog')
}

const SCENARIOS: Readonly<Record<string, string>> = { lose: 'skip', 'win + release': 'acquire and release' }

function rowsChart(all: All): Chart {
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

function soakChart(soak: readonly Soak[]): Chart {
  const points = soak.flatMap(({ server: database, minutes, memory, ...one }) =>
    Object.entries({
      'heap through TypeORM: MB': (memory[0]?.heap ?? NaN) / 1e6,
      'heap through Prisma: MB': (memory[1]?.heap ?? NaN) / 1e6,
      "connections, the apps' and the locks'": one.connections,
      'rows in the table': one.rows,
      'due times': one.dueTimes,
      'due times without a run': one.missed.length,
    }).map(([what, value]) => ({ database, minutes, what, value })),
  )
  return lines(points, 'minutes', 'minutes', 'linear')
}

type Point = Readonly<Record<string, string | number>> & { readonly what: string }

/** Draws one plot for each kind of value, one below the other. */
function lines(
  points: readonly Point[],
  x: string,
  title: string,
  scale: 'linear' | 'log' | 'symlog',
): Chart {
  const databases = (['postgres', 'mariadb', 'mysql', 'sqlite'] as const).filter((name) =>
    points.some(({ database }) => database === name),
  )
  const measured = [...new Set(points.map((point) => Number(point[x])))]
  // Where there are too many to be read, only the round ones.
  const values = measured.length > 12 ? measured.filter((value) => value % 10 === 0) : measured
  const named = (point: Point) => ({ ...point, database: databaseName(String(point['database'])) })
  const plot = (what: string) => ({
    title: { text: what },
    data: { values: points.filter((point) => point.what === what).map(named) },
    width: PLOT_WIDTH,
    height: 130,
    mark: { type: 'line', point: measured.length === values.length },
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
        scale: { domain: databases.map(databaseName), range: databases.map(light) },
      },
    },
  })
  return { plots: [...new Set(points.map(({ what }) => what))].map(plot), room: 88 }
}
