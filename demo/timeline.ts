import { paint, type Style } from './paint'

export type State =
  'waiting' | 'running' | 'ran' | 'skipped' | 'late' | 'error' | 'killed' | 'joined' | 'gone'

const LOOK: Readonly<Record<State, readonly [text: string, style: Style]>> = {
  waiting: ['', 'reset'],
  running: ['▶ running', 'yellow'],
  ran: ['■ RAN', 'green'],
  skipped: ['· skipped', 'gray'],
  late: ['· too late', 'gray'],
  error: ['! error', 'red'],
  killed: ['✗ KILLED -9', 'red'],
  joined: ['+ joins', 'cyan'],
  gone: ['', 'reset'],
}
const WIDTH = 17

/** Draws one row for each second, and one column for each process. On a terminal the newest row is drawn again as news come in. */
export class Timeline {
  readonly #columns: string[]
  #row: { tick: number; states: Map<string, State>; note: string } | undefined

  constructor(columns: readonly string[]) {
    this.#columns = [...columns]
  }

  header(titles: Readonly<Record<string, string>>): void {
    const line = this.#columns.map((name) => `${name} ${titles[name] ?? ''}`.padEnd(WIDTH)).join('')
    console.log(paint('bold', `  ${'second'.padEnd(11)}${line}`.trimEnd()))
  }

  open(tick: number): void {
    this.close()
    this.#row = { tick, states: new Map(), note: '' }
    this.#draw()
  }

  /** What came too late for its row is dropped: this is a picture, and no evidence. */
  set(column: string, state: State, tick?: number): void {
    if (!this.#row || (tick !== undefined && tick !== this.#row.tick)) return
    if (this.#row.states.get(column) === 'killed') return
    this.#row.states.set(column, state)
    this.#draw()
  }

  note(text: string): void {
    if (!this.#row) return
    this.#row.note = text
    this.#draw()
  }

  close(): void {
    if (!this.#row) return
    if (process.stdout.isTTY) process.stdout.write('\n')
    else console.log(this.#line(this.#row))
    this.#row = undefined
  }

  #draw(): void {
    if (this.#row && process.stdout.isTTY) process.stdout.write(`\r${this.#line(this.#row)}\x1b[K`)
  }

  #line({ tick, states, note }: { tick: number; states: Map<string, State>; note: string }): string {
    const cells = this.#columns.map((column) => {
      const [text, style] = LOOK[states.get(column) ?? 'waiting']
      return paint(style, text.padEnd(WIDTH))
    })
    const time = new Date(tick).toTimeString().slice(0, 8)
    return `  ${time.padEnd(11)}${cells.join('')}${paint('bold', note)}`.trimEnd()
  }
}
