import type { Event } from './event-log'
import type { Fire } from './fire'
import { STYLE } from './picture-style'
import { JOB } from './settings'
import { judge } from './verdict'

type Cell = Pick<Fire, 'process' | 'tick'>
/** 0: each fire as the run that it would have been without a lock. 1: the recorded runs, and the fires that were skipped. */
type Grid = 0 | 1

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** What a picture shows. */
interface Content {
  readonly names: readonly string[]
  readonly ticks: readonly number[]
  readonly counts: readonly [withoutLock: number, withLock: number]
  readonly captions: readonly string[]
}

/** Where a picture has its grids and its texts. */
interface Layout {
  readonly width: number
  readonly height: number
  readonly box: (grid: Grid, cell: Cell) => Box
  readonly texts: readonly string[]
}

const TITLES = ['Without a lock', 'With shedlock-orm'] as const
const LOOKS = ['many', 'run'] as const
const GRIDS = [0, 1] as const

/** Draws what happened in two grids of seconds and instances: for a wide page, and for the column of a phone. */
export function draw(fires: readonly Fire[], events: readonly Event[]): { wide: string; phone: string } {
  const names = [...new Set(fires.map(({ process }) => process))].sort()
  const ticks = [...new Set(fires.map(({ tick }) => tick))].sort((one, other) => one - other)
  const begins = events.filter(({ kind }) => kind === 'begin')
  const kill = events.find(({ kind }) => kind === 'killed')
  const successor = begins.find(({ id }) => kill && id > kill.id)
  const captions = [
    ...(kill && successor
      ? [
          `Second ${ticks.indexOf(kill.tick) + 1}: kill -9 for ${kill.process}, in the middle of a run.`,
          `Its lock ends by itself (lockAtMostFor ${JOB.lockAtMostFor}):`,
          `${((judge(events).takeoverMs ?? 0) / 1000).toFixed(1)} s after the kill ${successor.process} takes over.`,
        ]
      : []),
    `${ticks.length} seconds of a real run: npm run demo`,
  ]
  const content: Content = { names, ticks, counts: [fires.length, begins.length], captions }
  const ran = (fire: Cell): boolean =>
    begins.some(({ process, tick }) => process === fire.process && tick === fire.tick)

  const drawn = ({ width, height, box, texts }: Layout): string => {
    const rectangle = (grid: Grid, cell: Cell, look: string): string => {
      const { x, y, width: columns, height: rows } = box(grid, cell)
      return `<rect class="${look}" x="${x + 2}" y="${y + 2}" width="${columns - 4}" height="${rows - 4}" rx="3"/>`
    }
    const middle = (grid: Grid, cell: Cell): [x: number, y: number] => {
      const { x, y, width: columns, height: rows } = box(grid, cell)
      return [x + columns / 2, y + rows / 2]
    }
    const dot = (cell: Cell): string => {
      const [x, y] = middle(1, cell)
      return `<circle class="skip" cx="${x}" cy="${y}" r="3"/>`
    }
    const cross = (grid: Grid, cell: Cell): string => {
      const [x, y] = middle(grid, cell)
      return `<path class="cross" d="M${x - 4} ${y - 4}l8 8m0 -8l-8 8"/>`
    }
    const accident = (killed: Event, next: Event): string[] => {
      const [start, end] = [names.at(0), names.at(-1)].map((process = '', index) =>
        box(1, { process, tick: index === 0 ? killed.tick : next.tick - 1_000 }),
      ) as [Box, Box]
      return [
        `<rect class="held" x="${start.x}" y="${start.y}" width="${end.x + end.width - start.x}" height="${end.y + end.height - start.y}" rx="4"/>`,
        ...GRIDS.flatMap((grid) => [rectangle(grid, killed, 'killed'), cross(grid, killed)]),
      ]
    }
    const parts = [
      ...texts,
      ...fires.map((fire) => rectangle(0, fire, 'many')),
      ...fires.filter((fire) => !ran(fire)).map(dot),
      ...begins.map((begin) => rectangle(1, begin, 'run')),
      ...(kill && successor ? accident(kill, successor) : []),
    ]
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
  <title id="t">${fires.length} runs of one job in ${ticks.length} seconds without a lock, ${begins.length} with it</title>
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
  ${parts.join('\n  ')}
</svg>
`
  }
  return { wide: drawn(wide(content)), phone: drawn(phone(content)) }
}

/** As wide as the README on GitHub. Time runs to the right, and the grids are one below the other. */
function wide({ names, ticks, counts, captions }: Content): Layout {
  const [width, margin, left, row] = [1_012, 24, 56, 28]
  const tops = [68, 68 + names.length * row + 64] as const
  const bottom = tops[1] + names.length * row
  const column = Math.floor((width - left - margin) / ticks.length)
  const box = (grid: Grid, { process, tick }: Cell): Box => ({
    x: left + ticks.indexOf(tick) * column,
    y: tops[grid] + names.indexOf(process) * row,
    width: column,
    height: row,
  })
  const texts = GRIDS.flatMap((grid) => [
    text(margin, tops[grid] - 20, `large title ${LOOKS[grid]}`, `${TITLES[grid]}: ${counts[grid]} runs`),
    ...names.map((name, index) => text(left - 16, tops[grid] + (index + 0.68) * row, 'large middle', name)),
  ])
  const seconds = ticks.map((_, index) =>
    text(left + (index + 0.5) * column, bottom + 20, 'large quiet middle', String(index + 1)),
  )
  const below = [captions.slice(0, 2), captions.slice(2)].map((some, index) =>
    text(margin, bottom + 54 + index * 24, 'large quiet', some.join(' ')),
  )
  return { width, height: bottom + 98, box, texts: [...texts, ...seconds, ...below] }
}

/** As wide as the column of a phone, so that GitHub and npm do not scale the picture down. Time runs downwards, and the grids are side by side. */
function phone({ names, ticks, counts, captions }: Content): Layout {
  const [width, margin, left, gap, row, top] = [342, 8, 40, 14, 18, 84]
  const columns = (width - left - margin - gap) / 2
  const column = columns / names.length
  const starts = [left, left + columns + gap] as const
  const bottom = top + ticks.length * row
  const box = (grid: Grid, { process, tick }: Cell): Box => ({
    x: starts[grid] + names.indexOf(process) * column,
    y: top + ticks.indexOf(tick) * row,
    width: column,
    height: row,
  })
  const texts = GRIDS.flatMap((grid) => [
    text(starts[grid] + columns / 2, 24, 'column middle', TITLES[grid]),
    text(starts[grid] + columns / 2, 44, `title middle ${LOOKS[grid]}`, `${counts[grid]} runs`),
    ...names.map((name, index) => text(starts[grid] + (index + 0.5) * column, top - 8, 'middle', name)),
  ])
  const seconds = ticks.map((_, index) =>
    text(left - 8, top + index * row + 13, 'quiet end', String(index + 1)),
  )
  const below = captions.map((caption, index) => text(margin, bottom + 22 + index * 18, 'quiet', caption))
  return { width, height: bottom + 16 + captions.length * 18, box, texts: [...texts, ...seconds, ...below] }
}

function text(x: number, y: number, look: string, content: string): string {
  return `<text class="${look}" x="${x}" y="${y}">${content}</text>`
}
