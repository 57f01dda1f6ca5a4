import type { Event } from './event-log'
import type { Fire } from './fire'
import { STYLE } from './picture-style'
import { JOB } from './settings'
import { judge } from './verdict'

type Cell = Pick<Fire, 'process' | 'tick'>

const MARGIN = 24
const LEFT = 104
/** Narrow enough for twenty seconds to fit the text column of a page without scaling. */
const COLUMN = 23
const ROW = 26
/** The distance from a grid's heading to its first row. */
const HEADING = 30

/**
 * Draws two grids, instances × seconds: above, each fire as the run that it would have been without a lock; below, the runs
 * that the database recorded, and the fires that were skipped.
 */
export function draw(fires: readonly Fire[], events: readonly Event[]): string {
  const names = [...new Set(fires.map(({ process }) => process))].sort()
  const first = Math.min(...fires.map(({ tick }) => tick))
  const seconds = (Math.max(...fires.map(({ tick }) => tick)) - first) / 1000 + 1
  const begins = events.filter(({ kind }) => kind === 'begin')
  const kill = events.find(({ kind }) => kind === 'killed')
  const successor = begins.find(({ id }) => kill && id > kill.id)

  const right = LEFT + seconds * COLUMN
  const top = 38 + HEADING
  const below = top + names.length * ROW + 34 + HEADING
  const bottom = below + names.length * ROW
  const [width, height] = [right + MARGIN, bottom + 66]
  const x = (tick: number): number => LEFT + ((tick - first) / 1000) * COLUMN
  const y = (from: number, process: string): number => from + names.indexOf(process) * ROW

  const heading = (from: number, title: string, explanation: string, count: number, look: string): string =>
    text(
      MARGIN,
      from - HEADING + 12,
      'title',
      `${title}<tspan class="quiet" dx="12">${explanation}</tspan>`,
    ) + text(right - 3, from - HEADING + 12, `title end ${look}`, `${count} runs`)
  const life = (from: number, name: string): string => {
    const ticks = fires.filter(({ process }) => process === name).map(({ tick }) => tick)
    const [start, end] = [x(Math.min(...ticks)), x(Math.max(...ticks)) + COLUMN]
    const isKilled = from === top && kill?.process === name
    const middle = y(from, name) + ROW / 2
    return (
      text(MARGIN, middle + 4.5, '', `instance ${name}`) +
      `<path class="line" d="M${start + COLUMN / 2} ${middle}H${end - COLUMN / 2}"/>` +
      (start > LEFT ? text(start - 6, middle + 4, 'quiet end', 'joins') : '') +
      (isKilled ? text(end + 3, middle + 4, 'quiet killed', 'killed here, too') : '')
    )
  }
  const box = (from: number, { process, tick }: Cell, look: string): string =>
    `<rect class="${look}" x="${x(tick) + 3}" y="${y(from, process) + 3}" width="${COLUMN - 6}" height="${ROW - 6}" rx="4"/>`
  const dot = (from: number, { process, tick }: Cell): string =>
    `<circle class="skip" cx="${x(tick) + COLUMN / 2}" cy="${y(from, process) + ROW / 2}" r="3"/>`

  const accident = (killed: Event, next: Event): string[] => {
    const [from, to, middle] = [x(killed.tick) + 3, x(next.tick), y(below, killed.process) + ROW / 2]
    const later = ((judge(events).takeoverMs ?? 0) / 1000).toFixed(1)
    const explanation = `its lock ends by itself (lockAtMostFor ${JOB.lockAtMostFor}); ${later} s after the kill ${next.process} takes over`
    return [
      `<rect class="held" x="${from}" y="${below}" width="${to - from}" height="${bottom - below}" rx="4"/>`,
      box(below, killed, 'killed'),
      `<path class="cross" d="M${from + 10} ${middle - 4}l8 8m0 -8l-8 8"/>`,
      text(to + 6, middle + 4, 'quiet killed', 'kill -9, in the middle of a run'),
      `<path class="span" d="M${from} ${bottom + 4}v5H${to}v-5"/>`,
      text(
        Math.max(MARGIN, Math.min(from, right - explanation.length * 6.5)),
        bottom + 25,
        'quiet',
        explanation,
      ),
    ]
  }
  const ran = (fire: Cell): boolean =>
    begins.some(({ process, tick }) => process === fire.process && tick === fire.tick)

  const parts = [
    heading(top, 'Without a lock', 'every instance runs the job, every second', fires.length, 'many'),
    ...names.map((name) => life(top, name)),
    ...fires.map((fire) => box(top, fire, 'many')),
    heading(below, 'With shedlock-orm', 'one instance runs it, the others skip', begins.length, 'run'),
    ...names.map((name) => life(below, name)),
    ...fires.filter((fire) => !ran(fire)).map((fire) => dot(below, fire)),
    ...begins.map((begin) => box(below, begin, 'run')),
    ...(kill && successor ? accident(kill, successor) : []),
    text(MARGIN, height - 16, 'quiet', `${seconds} seconds of a real run: npm run demo`),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t">
  <title id="t">${fires.length} runs of one job in ${seconds} seconds without a lock, ${begins.length} with it</title>
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
  ${parts.join('\n  ')}
</svg>
`
}

export function text(x: number, y: number, look: string, content: string): string {
  return `<text${look ? ` class="${look}"` : ''} x="${x}" y="${y}">${content}</text>`
}
