import { styleText } from 'node:util'
import { wrap } from '../src/cli/layout'

export type State = 'none' | 'ran' | 'skipped' | 'late' | 'error' | 'killed' | 'dead'
type Style = Parameters<typeof styleText>[0]

const LOOK: Readonly<Record<State, readonly [text: string, style: Style]>> = {
  none: ['', 'reset'],
  ran: ['■ ran', 'green'],
  skipped: ['· skipped', 'gray'],
  late: ['· too late', 'gray'],
  error: ['! error', 'red'],
  killed: ['✗ killed', 'red'],
  dead: ['✗ dead', 'gray'],
}
const TIME = 12
const SO_FAR = 22
const NARROWEST_CELL = 11
const WIDEST_CELL = 16
/** Longer lines are hard to read, and a pipe or a log has no width. */
const WIDEST_LINE = 100

/**
 * Prints a row for each second, with a column for each instance. It never redraws a line, so that a terminal of any size, a pipe and a
 * log all show the same.
 */
export class Timeline {
  /** Keyed by name and second. */
  readonly #states = new Map<string, State>()
  #notes: string[] = []
  #announcements: string[] = []
  /** The cell width under the last header. */
  #cellWidth = 0

  /** @param names the names of all instances, including later ones */
  constructor(private readonly names: readonly string[]) {}

  /** Events that arrive after their row was printed are not shown: the timeline is a picture, not evidence. */
  set(name: string, tick: number, state: State): void {
    this.#states.set(`${name} ${tick}`, state)
  }

  has(name: string, tick: number): boolean {
    return this.#states.has(`${name} ${tick}`)
  }

  /** Puts a line below the next row. */
  note(text: string): void {
    this.#notes.push(text)
  }

  /** Puts a line above the next row, in which what it announces may already be seen. */
  announce(text: string): void {
    this.#announcements.push(text)
  }

  /**
   * Prints the row of a second.
   *
   * @param titles the instances' titles, shown if they fit
   * @param soFar the end of the row, shown if it fits
   */
  print(tick: number, titles: ReadonlyMap<string, string>, soFar: string): void {
    const room = width() - TIME - 1
    const hasTotals = room >= SO_FAR + this.names.length * NARROWEST_CELL
    const cellWidth = Math.min(WIDEST_CELL, Math.floor((room - (hasTotals ? SO_FAR : 0)) / this.names.length))
    const line = (time: string, cell: (name: string) => readonly [string, Style], end: string): void => {
      const cells = this.names.map((name) => {
        const [text, style] = cell(name)
        return (text && styleText(style, text)) + ' '.repeat(Math.max(0, cellWidth - text.length))
      })
      console.log(`  ${time.padEnd(TIME - 2)}${cells.join('')}${hasTotals ? end : ''}`.trimEnd())
    }
    // Repeat the header if the terminal was resized.
    if (cellWidth !== this.#cellWidth) {
      this.#cellWidth = cellWidth
      const title = (name: string): string => {
        const long = titles.get(name) ?? name
        return long.length < cellWidth ? long : name
      }
      line('second', (name) => [title(name), 'bold'], 'so far')
    }
    for (const text of this.#announcements.splice(0)) paragraph(' '.repeat(TIME), text, 'bold')
    line(
      new Date(tick).toTimeString().slice(0, 8),
      (name) => LOOK[this.#states.get(`${name} ${tick}`) ?? 'none'],
      soFar,
    )
    for (const note of this.#notes.splice(0)) paragraph(' '.repeat(TIME), note, 'bold')
  }
}

/** Prints a text wrapped between words, with a prefix on its first line. */
export function paragraph(begin: string, text: string, style: Style = 'reset'): void {
  const lines = wrap(text, width() - begin.length - 1).replaceAll('\n', `\n${' '.repeat(begin.length)}`)
  console.log(styleText(style, begin + lines))
}

function width(): number {
  return process.stdout.isTTY ? Math.min(process.stdout.columns || 80, WIDEST_LINE) : WIDEST_LINE
}
