import type { Event } from './event-log'
import type { Fire } from './fire'
import { STYLE } from './picture-style'
import { JOB } from './settings'
import { judge } from './verdict'

type Cell = Pick<Fire, 'process' | 'tick'>

/** As wide as the text column on a phone, so that GitHub and npm do not scale the picture down there. */
const WIDTH = 342
const MARGIN = 8
const LEFT = 40
const GAP = 14
const ROW = 18
const TOP = 84

/**
 * Draws two grids, seconds × instances, with time running downwards: on the left, each fire as the run that it would have been without
 * a lock; on the right, the runs that the database recorded, and the fires that were skipped.
 */
export function draw(fires: readonly Fire[], events: readonly Event[]): string {
  const names = [...new Set(fires.map(({ process }) => process))].sort()
  const ticks = [...new Set(fires.map(({ tick }) => tick))].sort((one, other) => one - other)
  const begins = events.filter(({ kind }) => kind === 'begin')
  const kill = events.find(({ kind }) => kind === 'killed')
  const successor = begins.find(({ id }) => kill && id > kill.id)

  const grid = (WIDTH - LEFT - MARGIN - GAP) / 2
  const column = grid / names.length
  const right = LEFT + grid + GAP
  const bottom = TOP + ticks.length * ROW
  const x = (from: number, process: string): number => from + names.indexOf(process) * column
  const y = (tick: number): number => TOP + ticks.indexOf(tick) * ROW

  const heading = (from: number, title: string, count: number, look: string): string[] => [
    text(from + grid / 2, 24, 'column middle', title),
    text(from + grid / 2, 44, `title middle ${look}`, `${count} runs`),
    ...names.map((name) => text(x(from, name) + column / 2, TOP - 8, 'middle', name)),
  ]
  const box = (from: number, { process, tick }: Cell, look: string): string =>
    `<rect class="${look}" x="${x(from, process) + 2}" y="${y(tick) + 2}" width="${column - 4}" height="${ROW - 4}" rx="3"/>`
  const ran = (fire: Cell): boolean =>
    begins.some(({ process, tick }) => process === fire.process && tick === fire.tick)
  const dot = ({ process, tick }: Cell): string =>
    `<circle class="skip" cx="${x(right, process) + column / 2}" cy="${y(tick) + ROW / 2}" r="3"/>`
  const cross = (from: number, { process, tick }: Cell): string =>
    `<path class="cross" d="M${x(from, process) + column / 2 - 4} ${y(tick) + ROW / 2 - 4}l8 8m0 -8l-8 8"/>`
  const accident = (killed: Event, next: Event): string[] => [
    `<rect class="held" x="${right}" y="${y(killed.tick)}" width="${grid}" height="${y(next.tick) - y(killed.tick)}" rx="4"/>`,
    ...[LEFT, right].flatMap((from) => [box(from, killed, 'killed'), cross(from, killed)]),
  ]
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
  const height = bottom + 16 + captions.length * 18
  const parts = [
    ...heading(LEFT, 'Without a lock', fires.length, 'many'),
    ...heading(right, 'With shedlock-orm', begins.length, 'run'),
    ...ticks.map((tick, index) => text(LEFT - 8, y(tick) + 13, 'quiet end', String(index + 1))),
    ...fires.map((fire) => box(LEFT, fire, 'many')),
    ...fires.filter((fire) => !ran(fire)).map(dot),
    ...begins.map((begin) => box(right, begin, 'run')),
    ...(kill && successor ? accident(kill, successor) : []),
    ...captions.map((caption, index) => text(MARGIN, bottom + 22 + index * 18, 'quiet', caption)),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t">
  <title id="t">${fires.length} runs of one job in ${ticks.length} seconds without a lock, ${begins.length} with it</title>
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10"/>
  ${parts.join('\n  ')}
</svg>
`
}

function text(x: number, y: number, look: string, content: string): string {
  return `<text${look ? ` class="${look}"` : ''} x="${x}" y="${y}">${content}</text>`
}
