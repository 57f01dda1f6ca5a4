import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CASES, EVERY, MINUTES, timeline, type Minute } from './timelines'

// Draws the pictures of docs/schedulers.md: npm run timelines

const FOLDER = join(__dirname, '../docs/durations')
/** The width of a phone's text column, so that pictures are never cut off. */
const WIDTH = 342
const LEFT = 24
const MINUTE = (WIDTH - LEFT - 8) / MINUTES
const TOP = 28
const ROW = 24
const BAR = 16

const STYLE = `
    text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #3d444d }
    .page { fill: #ffffff; stroke: #d1d9e0 }
    .tick { stroke: #d1d9e0 }
    .runs { fill: #2da160 }
    .twice { fill: #e5853d }
    .locked { fill: #2da160; opacity: 0.25 }
    .outlives { fill: #d6454b; fill-opacity: 0.15; stroke: #d6454b; stroke-width: 1.5; stroke-dasharray: 4 3 }
    .skips { fill: none; stroke: #656d76; stroke-width: 1.5 }
    .killed { stroke: #d6454b; stroke-width: 2.5; stroke-linecap: round }
    @media (prefers-color-scheme: dark) {
      text { fill: #d1d7e0 }
      .page { fill: #161618; stroke: #3d444d }
      .tick { stroke: #3d444d }
      .locked { opacity: 0.45 }
      .skips { stroke: #9198a1 }
      .outlives { fill: #ff7b80; stroke: #ff7b80 }
      .killed { stroke: #ff7b80 }
    }
  `

/** Draws all pictures. @returns them by file name */
export async function pictures(): Promise<ReadonlyMap<string, string>> {
  const drawn = new Map([['legend.svg', legend()]])
  for (const example of CASES) drawn.set(`${example.file}.svg`, picture(await timeline(example)))
  return drawn
}

function picture(instances: readonly [Minute[], Minute[]]): string {
  const axis = Array.from({ length: Math.ceil(MINUTES / EVERY) }, (_, index) => index * EVERY).map(
    (minute) =>
      `<line class="tick" x1="${x(minute)}" y1="${TOP - 6}" x2="${x(minute)}" y2="${TOP + 2 * ROW}"/>` +
      `<text x="${x(minute)}" y="16">${minute === 0 ? '0 min' : minute}</text>`,
  )
  const rows = instances.flatMap((minutes, row) => {
    const y = TOP + row * ROW
    const other = instances[row === 0 ? 1 : 0]
    const label = `<text x="8" y="${y + 12}">${row === 0 ? 'A' : 'B'}</text>`
    return [label, ...spans(minutes, other, row === 1).map((span) => mark(span, y))]
  })
  return svg(TOP + 2 * ROW + 4, [...axis, ...rows])
}

interface Span {
  readonly what: Exclude<Minute, undefined> | 'twice'
  readonly from: number
  to: number
}

/** Joins consecutive minutes with the same state. If both instances run for one tick or at the same time, B's run is one too many. */
function spans(minutes: Minute[], other: Minute[], isSecond: boolean): Span[] {
  const found: Span[] = []
  for (const [minute, what] of minutes.entries()) {
    const last = found.at(-1)
    const goesOn = minute > 0 && minutes[minute - 1] === what && last !== undefined
    if (what === undefined) continue
    if (goesOn && what !== 'skips') last.to = minute + 1
    else {
      const tick = minute - (minute % EVERY)
      const tooMany =
        what === 'runs' &&
        isSecond &&
        other.slice(tick, minute + 1).some((each) => each === 'runs' || each === 'outlives')
      found.push({ what: tooMany ? 'twice' : what, from: minute, to: minute + 1 })
    }
  }
  return found
}

function mark({ what, from, to }: Span, y: number): string {
  const middle = y + BAR / 2
  if (what === 'skips') return `<circle class="skips" cx="${x(from + 0.5)}" cy="${middle}" r="3.5"/>`
  if (what === 'killed') {
    const [left, right] = [x(from + 0.5) - 4, x(from + 0.5) + 4]
    return `<path class="killed" d="M${left} ${middle - 4} L${right} ${middle + 4} M${right} ${middle - 4} L${left} ${middle + 4}"/>`
  }
  return `<rect class="${what}" x="${x(from)}" y="${y}" width="${round((to - from) * MINUTE)}" height="${BAR}"/>`
}

const LEGEND = {
  runs: 'runs',
  twice: 'too many',
  locked: 'locked',
  skips: 'skips',
  killed: 'killed',
  outlives: 'runs on though its lock has ended',
}

function legend(): string {
  let [left, row] = [8, 0]
  const entries = Object.entries(LEGEND).map(([what, text]) => {
    const width = 27 + text.length * 6.8
    if (left + width > WIDTH) [left, row] = [8, row + 1]
    const from = (left - LEFT) / MINUTE
    const drawn = mark({ what: what as Span['what'], from, to: from + 1.5 }, 6 + row * ROW)
    const entry = `${drawn}<text x="${left + 15}" y="${18 + row * ROW}">${text}</text>`
    left = round(left + width)
    return entry
  })
  return svg(28 + row * ROW, entries)
}

function svg(height: number, content: readonly string[]): string {
  const lines = content.map((line) => `  ${line}\n`).join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH * 1.5}" height="${height * 1.5}">
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>
${lines}</svg>
`
}

function x(minute: number): number {
  return round(LEFT + minute * MINUTE)
}

function round(length: number): number {
  return Math.round(length * 100) / 100
}

async function write(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  for (const [file, text] of await pictures()) writeFileSync(join(FOLDER, file), text)
}

if (require.main === module) void write()
